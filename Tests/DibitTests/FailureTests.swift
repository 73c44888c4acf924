import Dibit
import DibitTestSupport
import Testing

@Suite struct DibitErrorTests {
  @Test("what is not there, is another's, or was not converted is told in the library's words")
  func words() async throws {
    let work = try await Workplace()
    let missing = await failure { () throws(DibitError) in try await Model(at: work.scratch("nothing")) }
    #expect(try #require(missing).kind == .missing)
    let other = Scratch()
    let source = try TinyCheckpoint.llama(seed: 2).write(to: other)
    let raw = try await Model(at: source)
    #expect(raw.facts.bits == nil && raw.facts.digest == nil && work.model.facts.bits == 4 && work.model.facts.architecture == "llama")
    let notConverted = await failure { () throws(DibitError) in try await raw.train(on: work.data, to: work.scratch("adapter")).value }
    #expect(try #require(notConverted).message == "'\(source)' is a checkpoint, not a converted model: convert it first")
    let adapter = try await work.trained()
    let foreign = await failure { () throws(DibitError) in try await raw.generate("a", adapter: adapter).value }
    #expect(try #require(foreign).message == "adapter '\(adapter.path)' belongs to '\(work.model.path)' and not to '\(source)'")
    let noAdapter = await failure { () throws(DibitError) in try await work.model.adapter(at: work.model.path) }
    #expect(try #require(noAdapter).kind == .invalidData)
    for error in [missing, notConverted, foreign, noAdapter] {
      #expect(error?.message.contains("--") == false && error?.message.contains("'dibit ") == false, "\(error?.message ?? "")")
    }
  }

  @Test("an output in the way is left alone unless the options say otherwise")
  func outputs() async throws {
    let work = try await Workplace()
    let other = Scratch()
    let source = try TinyCheckpoint.llama().write(to: other)
    let before = work.model.facts.digest
    let inTheWay = await failure { () throws(DibitError) in try await Model.convert(source, to: work.model.path).value }
    #expect(try #require(inTheWay).kind == .cannotCreate)
    #expect(inTheWay?.message == "'\(work.model.path)': the output exists already; choose another name or set 'overwrites'")
    var options = Conversion.Options(bits: 2)
    options.overwrites = true
    let report = try await Model.convert(source, to: work.model.path, options: options).value
    #expect(report.digest != before && report.check?.tokens ?? 0 > 0 && report.bitsPerWeight < 16)
    options.bits = 3
    let bits = await failure { [options] () throws(DibitError) in try await Model.convert(source, to: "x", options: options).value }
    #expect(bits?.message == "'bits': expected 2, 4, 8, 16 or 32, found 3")
  }

  @Test("no advice of the library names the command line")
  func advice() {
    for advice in DibitError.Advice.allCases {
      let message = DibitError(.invalidData, "x", advice).message
      #expect(message.count > 3 && !message.contains("--") && !message.contains("dibit "))
    }
  }
}
