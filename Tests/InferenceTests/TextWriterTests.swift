import DibitInference
import DibitKernels
import DibitModel
import Testing

@Suite struct TextWriterTests {
  @Test("each text is what a session of its own writes with the same seed", arguments: ["llama", "afm7"])
  func sessions(family: String) throws {
    let (configuration, weights) = try makePackedModel(family)
    var writer = TextWriter(MeasuredModel(configuration, weights: weights), length: 12, on: compute)
    // As long as the text, one token short of it, and shorter.
    let beginnings: [[Int32]] = [[3], [7, 1, 4], [3], (0..<12).map { $0 }, (0..<11).map { $0 }]
    let written = try #require(try writer.write(beginnings, seed: 5))
    for (index, beginning) in beginnings.enumerated() {
      var session = Session(configuration, weights: weights, context: 12, precision: .int8, on: compute)
      var options = SamplingOptions()
      (options.temperature, options.seed) = (1, 5 + UInt64(index))
      var sampler = Sampler(options)
      var text = Array(beginning.prefix(11))
      try session.append(text)
      while text.count < 12 {
        text.append(try sampler.next(session.lastLogits.span))
        if text.count < 12 { try session.append(text[text.count - 1]) }
      }
      #expect(written[index] == text, "text \(index)")
    }
    // The same writer goes on, with seeds of which each makes a text of its own.
    let next = try #require(try writer.write([[3], [3]], seed: 7))
    #expect(next[0] == written[2] && next[1] != next[0])
  }

  @Test("progress counts tokens, and stops the writing")
  func progress() throws {
    let (configuration, weights) = try makePackedModel("llama")
    var writer = TextWriter(MeasuredModel(configuration, weights: weights), length: 6, on: compute)
    var seen: [Int] = []
    let stopped = try writer.write([[1], [2, 3]]) { done in
      seen.append(done)
      return seen.count < 3
    }
    #expect(stopped == nil && seen == [2, 4, 6])
    seen = []
    _ = try writer.write([[1], [2, 3]]) { done in
      seen.append(done)
      return true
    }
    #expect(seen == [2, 4, 6, 7])
  }
}
