import Dibit
import DibitJSON
import DibitTestSupport
import Testing

@Suite struct GenerationTests {
  @Test("the pieces of a stream are the text of the response, and the same seed gives it again")
  func stream() async throws {
    let model = try await Workplace().model
    var options = Response.Options(maximumTokens: 24)
    (options.temperature, options.seed) = (0.9, 7)
    let job = model.generate("the goal of the match", options: options)
    var pieces: [String] = []
    for try await piece in job { pieces.append(piece) }
    let response = try await job.value
    #expect(pieces.count > 1 && pieces.joined() == response.text)
    #expect((2...24).contains(response.tokens.count) && response.promptTokens > 4)
    #expect((response.end == .length) == (response.tokens.count == 24))
    #expect(try await model.generate("the goal of the match", options: options).value == response)
    options.seed = 8
    #expect(try await model.generate("the goal of the match", options: options).value.text != response.text)
  }

  @Test("an answer satisfies its schema, or is one of its choices")
  func forms() async throws {
    let model = try await Workplace().model
    let schema = #"{"type":"object","properties":{"name":{"type":"string","maxLength":6},"n":{"enum":[1,2]}},"required":["name","n"]}"#
    let object = try await model.generate("a player", options: .init(maximumTokens: 60, format: .schema(schema))).value
    let json = try JSONValue(parsing: object.text)
    #expect((json["name"]?.string?.count ?? 99) <= 6 && [1, 2].contains(json["n"]?.int ?? 0) && object.end == .stop)
    let choice = try await model.generate("a player", options: .init(format: .choices(["a goal", "a loan"]))).value.text
    #expect(["a goal", "a loan"].contains(choice))
    let unknown = await failure { () throws(DibitError) in
      try await model.generate("a", options: .init(format: .schema(#"{"type":"object","frobnicate":1}"#))).value
    }
    #expect(try #require(unknown).kind == .invalidArgument)
  }

  @Test("the messages of a chat are asked in the model's turns, a text is gone on with as it is")
  func prompts() async throws {
    let model = try await Workplace().model
    let options = Response.Options(maximumTokens: 4)
    let asked = try await model.generate("the goal", options: options).value
    #expect(try await model.generate(.chat([Message(.user, "the goal")]), options: options).value == asked)
    let system = try await model.generate(.user("the goal", system: "the cup"), options: options).value
    #expect(system.promptTokens > asked.promptTokens)
    #expect(try await model.generate(.text("the goal"), options: options).value.promptTokens < asked.promptTokens)
    #expect(model.tokenCount(of: "the goal") > 0)
  }

  @Test("choices get probabilities that sum to one, one that begins with another too")
  func scores() async throws {
    let model = try await Workplace().model
    let scores = try await model.score(["the", "the goal", "a loan"], after: "the match")
    #expect(scores.map(\.choice) == ["the", "the goal", "a loan"])
    #expect(abs(scores.reduce(0) { $0 + $1.probability } - 1) < 1e-12)
    let twice = await failure { () throws(DibitError) in try await model.score(["a", "a"], after: "the match") }
    #expect(try #require(twice).message == "'choices': expected texts of different tokens, none of them empty")
  }

  @Test("values that cannot be are told by their names")
  func arguments() async throws {
    let model = try await Workplace().model
    var options = Response.Options(maximumTokens: 0)
    var fault = await failure { [options] () throws(DibitError) in try await model.generate("a", options: options).value }
    #expect(fault == DibitError(.invalidArgument, option: "maximumTokens", "expected at least 1, found 0"))
    #expect(fault?.message == "'maximumTokens': expected at least 1, found 0")
    (options.maximumTokens, options.topP) = (1, 1.5)
    fault = await failure { [options] () throws(DibitError) in try await model.generate("a", options: options).value }
    #expect(fault?.message == "'topP': expected a number above 0 and up to 1, found 1.5")
    let long = await failure { () throws(DibitError) in
      try await model.generate(.text(String(repeating: "the goal ", count: 600))).value
    }
    #expect(try #require(long).kind == .invalidData)
  }
}
