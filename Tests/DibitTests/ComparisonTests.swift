import Dibit
import DibitTestSupport
import Testing

@Suite struct ComparisonTests {
  private let scratch = Scratch()

  @Test("a model with more bits is nearer; the page shows both; progress goes up to the end")
  func compares() async throws {
    let source = try TinyCheckpoint.llama(context: 48).write(to: scratch, "floats")
    var models: [Model] = []
    for bits in [2, 4] {
      var options = Conversion.Options(bits: bits)
      options.checks = false
      models.append(try await Model(at: Model.convert(source, to: scratch("m\(bits)"), options: options).value.path))
    }
    let text = try scratch.write(String(repeating: TinyCheckpoint.sentences.joined(separator: ". ") + "\n", count: 20), to: "text.txt")
    let job = Model.compare(models, with: try await Model(at: source), on: text, limit: 600)
    var shares: [Double] = []
    for try await share in job { shares.append(share) }
    let comparison = try await job.value
    #expect(shares == shares.sorted() && shares.last == 1)
    let distances = comparison.distances
    #expect(distances.count == 2 && distances[0].divergence > 2 * distances[1].divergence)
    #expect(distances[0].size.bytes < distances[1].size.bytes && distances[1].size.bytes < comparison.reference.bytes)
    #expect(try #require(distances[1].signalToNoise) > #require(distances[0].signalToNoise) + 6)
    #expect(distances[0].tensors.count == 16 && comparison.continuations.allSatisfy { $0.models.count == 2 })
    #expect(comparison.html.contains(models[0].path) && comparison.html.contains("dibit compare"))
    await #expect(throws: DibitError.self) { try await Model.compare([], with: models[0], on: text).value }
    await #expect(throws: DibitError.self) { try await Model.compare(models, with: models[0], on: scratch("nowhere")).value }
  }
}
