import Dibit
import DibitJSON
import DibitTestSupport
import Testing

@Suite struct ChatTests {
  private var options: Response.Options {
    var options = Response.Options(maximumTokens: 12)
    (options.temperature, options.seed) = (0.9, 3)
    return options
  }

  @Test("a further turn reads only what is new, and its tokens are those of a model that reads the whole chat")
  func turns() async throws {
    let model = try await Workplace().model
    let chat = try await model.chat(system: "be calm")
    var before = 0
    for (turn, text) in ["the goal of the match", "the soup needs salt", "the bank"].enumerated() {
      let asked = chat.messages + [Message(.user, text)]
      let response = try await chat.respond(to: text, options: options).value
      let whole = try await model.generate(.chat(asked), options: options).value
      #expect(response.tokens == whole.tokens && response.text == whole.text && response.end == whole.end)
      #expect(response.promptTokens == whole.promptTokens && whole.readTokens == whole.promptTokens)
      // The answer before is held too, but for the token that was drawn last.
      #expect(turn == 0 ? response.readTokens == response.promptTokens : response.readTokens < response.promptTokens - before, "\(turn)")
      #expect(chat.messages == asked + [Message(.assistant, response.text)])
      before = response.promptTokens
    }
    #expect(before > 40)
  }

  @Test("the pieces of a turn are its answer, and an answer may have a form")
  func forms() async throws {
    let model = try await Workplace().model
    let chat = try await model.chat()
    let job = chat.respond(to: "the goal", options: options)
    var pieces: [String] = []
    for try await piece in job { pieces.append(piece) }
    #expect(try await pieces.joined() == job.value.text)
    let choice = try await chat.respond(to: "the soup", options: .init(format: .choices(["a goal", "a loan"]))).value
    #expect(["a goal", "a loan"].contains(choice.text) && choice.readTokens < choice.promptTokens)
    let schema = #"{"type":"object","properties":{"n":{"enum":[1,2]}},"required":["n"]}"#
    let object = try await chat.respond(to: "the bank", options: .init(maximumTokens: 40, format: .schema(schema))).value.text
    #expect([1, 2].contains(try JSONValue(parsing: object)["n"]?.int))
    #expect(chat.messages.last == Message(.assistant, object))
  }

  @Test("a chat that was kept goes on as it would have")
  func restored() async throws {
    let place = try await Workplace()
    let (model, file) = (place.model, place.scratch("chat.json"))
    let chat = try await model.chat(system: "be calm")
    _ = try await chat.respond(to: "the goal", options: options).value
    try await chat.save(to: file)
    let kept = chat.messages
    let restored = try await model.chat(messages: Chat.messages(at: file))
    #expect(restored.messages == kept)
    let (own, again) = try await (
      chat.respond(to: "the soup", options: options).value, restored.respond(to: "the soup", options: options).value
    )
    #expect(own.tokens == again.tokens && own.readTokens < again.readTokens && again.readTokens == again.promptTokens)
    let inTheWay = await failure { () throws(DibitError) in try await chat.save(to: file) }
    #expect(try #require(inTheWay).kind == .cannotCreate)
    try await chat.save(to: file, overwrites: true)
    #expect(try await Chat.messages(at: file) == chat.messages)
    // A last message of the user is answered without another one.
    let pending = try await model.chat(messages: kept + [Message(.user, "the soup")])
    #expect(try await pending.respond(options: options).value.tokens == own.tokens)
  }

  @Test("turns are taken back, and the system's message stays unless it is set")
  func edits() async throws {
    let model = try await Workplace().model
    let chat = try await model.chat(system: "be calm")
    let first = try await chat.respond(to: "the goal", options: options).value
    let kept = chat.messages
    _ = try await chat.respond(to: "the soup", options: options).value
    #expect(try await chat.undo())
    #expect(chat.messages == kept)
    try await chat.reset()
    #expect(chat.messages == [Message(.system, "be calm")])
    #expect(try await !chat.undo())
    let again = try await chat.respond(to: "the goal", options: options).value
    #expect(again.tokens == first.tokens && again.readTokens == 1)
    try await chat.setSystem(nil)
    #expect(chat.messages == Array(kept.dropFirst()))
  }

  @Test("what cannot be said is told by its kind, and leaves the chat as it was")
  func failures() async throws {
    let place = try await Workplace(context: 64)
    let chat = try await place.model.chat()
    let long = await failure { () throws(DibitError) in
      try await chat.respond(to: String(repeating: "the planet was small ", count: 40)).value
    }
    #expect(try #require(long).kind == .invalidData && #require(long).message.hasPrefix("the chat would have "))
    let nothing = await failure { () throws(DibitError) in try await chat.respond().value }
    #expect(nothing?.message == "'text': expected some, as the last message is not the user's")
    // Behind a longer job, so that it is not over when it is stopped, however busy the machine is.
    let texts = try place.scratch.write(
      String(repeating: TinyCheckpoint.sentences.joined(separator: ". ") + "\n", count: 5000), to: "texts.txt")
    let longer = place.model.perplexity(of: texts)
    let stopped = chat.respond(to: "the goal", options: .init(maximumTokens: 40))
    stopped.cancel()
    longer.cancel()
    #expect(await failure { () throws(DibitError) in try await stopped.value }?.kind == .cancelled)
    #expect(chat.messages.isEmpty)
    // What has come of an answer stays, and is taken back.
    try await chat.reset()
    let left = chat.respond(to: "the goal", options: .init(maximumTokens: 40))
    for try await _ in left { break }
    left.cancel()
    _ = await failure { () throws(DibitError) in try await left.value }
    #expect(chat.messages.map(\.role) == [.user, .assistant] && chat.messages.last?.content.isEmpty == false)
    #expect(try await chat.undo() && chat.messages.isEmpty)
    let outOfTurn = await failure { () throws(DibitError) in
      try await place.model.chat(messages: [Message(.user, "a"), Message(.user, "b")])
    }
    #expect(outOfTurn?.message == "message 2: one of assistant expected, one of user found")
    #expect(await failure { () throws(DibitError) in try await Chat.messages(at: place.scratch("none")) }?.kind == .missing)
    let file = try place.scratch.write("no chat", to: "text.json")
    #expect(await failure { () throws(DibitError) in try await Chat.messages(at: file) }?.kind == .invalidData)
  }
}
