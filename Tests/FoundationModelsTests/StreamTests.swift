import FoundationModels
import Testing

@Suite struct StreamTests {
  private let short = GenerationOptions(sampling: .random(top: 40, seed: 3), maximumResponseTokens: 24)

  @Test("snapshots grow to the answer, which is that of a request without a stream")
  func text() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model)
    let stream = session.streamResponse(to: "the goal", options: short)
    var last = ""
    var snapshots = 0
    for try await snapshot in stream {
      #expect(snapshot.content.hasPrefix(last) && snapshot.content != last)
      last = snapshot.content
      snapshots += 1
    }
    #expect(snapshots > 1 && !session.isResponding && session.transcript.count == 2)
    let whole = try await stream.collect()
    #expect(whole.content == last)
    #expect(try await LanguageModelSession(model: test.model).respond(to: "the goal", options: short).content == last)
  }

  @Test("snapshots of a type only gain, keep their identity, and end in the value")
  func values() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model)
    let stream = session.streamResponse(to: "report", generating: Report.self)
    var last: Report.PartiallyGenerated?
    var identities: Set<GenerationID> = []
    for try await snapshot in stream {
      if let title = last?.title, let now = snapshot.content.title { #expect(now.hasPrefix(title)) }
      if let count = last?.count { #expect(snapshot.content.count == count) }
      #expect((last?.words?.count ?? 0) <= snapshot.content.words?.count ?? 0)
      last = snapshot.content
      identities.insert(try #require(snapshot.rawContent.id))
    }
    let report = try await stream.collect().content
    #expect(last?.title == report.title && last?.count == report.count && last?.words == report.words && identities.count == 1)
  }

  @Test("a loop that ends early ends the turn, and so do a stream that nobody holds and a task that is cancelled")
  func ends() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model)
    func first() async throws { for try await _ in session.streamResponse(to: "the goal", generating: LongList.self) { break } }
    try await first()
    #expect(!session.isResponding && session.transcript.isEmpty)
    do { _ = session.streamResponse(to: "the goal", generating: LongList.self) }
    #expect(!session.isResponding)
    let error = await failure(cancelledWithin: 20) {
      for try await _ in session.streamResponse(to: "the goal", generating: LongList.self) {}
    }
    #expect(error is CancellationError)
    #expect(!session.isResponding && session.transcript.isEmpty)
    _ = try await session.respond(to: "the soup", options: short)
    #expect(session.transcript.count == 2)
  }

  @Test("feedback has what was said, and what was taken back")
  func feedback() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model)
    _ = try await session.respond(to: "the soup", options: short)
    func first() async throws {
      for try await _ in session.streamResponse(to: "the goal of the match", generating: LongList.self) { break }
    }
    try await first()
    let text = String(decoding: session.logFeedbackAttachment(sentiment: .negative, desiredResponseText: "needs salt"), as: UTF8.self)
    for part in ["the soup", "the goal of the match", "negative", "needs salt"] { #expect(text.contains(part), "\(part)") }
  }
}
