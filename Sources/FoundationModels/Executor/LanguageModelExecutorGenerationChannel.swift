/// A way from an executor to the session that asked it: the executor sends events, and the session reads them in order.
///
/// ```swift
/// await channel.send(.response(action: .appendText("The Elbe", tokenCount: 3)))
/// await channel.send(.response(action: .appendText(" is a river.", tokenCount: 4)))
/// ```
public struct LanguageModelExecutorGenerationChannel: AsyncSequence, Sendable {
  /// Something that a model made.
  public typealias Element = Event

  /// Something that a model made: a part of an answer, of its thoughts, or of calls of tools.
  public struct Event: Sendable {
    enum Content: Sendable {
      case response(Response)
      case reasoning(Reasoning)
      case toolCalls(ToolCalls)
    }

    let content: Content
  }

  /// Reads the events of a channel.
  public struct AsyncIterator: AsyncIteratorProtocol {
    /// Something that a model made.
    public typealias Element = Event

    fileprivate var events: AsyncThrowingStream<Event, any Error>.AsyncIterator

    /// Returns the next event; nil when the executor has returned, or nobody holds the channel any more.
    ///
    /// - Parameter actor: The actor on which the iteration runs.
    /// - Throws: What the executor throws.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Event? {
      try await events.next(isolation: actor)
    }
  }

  /// The end into which events go: when nobody holds it any more there will be none.
  private final class Entrance: Sendable {
    let continuation: AsyncThrowingStream<Event, any Error>.Continuation
    init(_ continuation: AsyncThrowingStream<Event, any Error>.Continuation) { self.continuation = continuation }
    deinit { continuation.finish() }
  }

  private let events: AsyncThrowingStream<Event, any Error>
  private let entrance: Entrance

  /// A channel into which nothing was sent yet.
  public init() {
    let (events, continuation) = AsyncThrowingStream<Event, any Error>.makeStream()
    (self.events, entrance) = (events, Entrance(continuation))
  }

  /// Begins to read the events. They can be read once.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(events: events.makeAsyncIterator()) }

  /// Sends an event. Behind the end of a request it goes nowhere.
  ///
  /// - Parameter event: The event.
  public nonisolated(nonsending) func send(_ event: Event) async { entrance.continuation.yield(event) }

  /// Says that there will be no more events, because all is said or for a reason.
  func finish(throwing error: (any Error)? = nil) { entrance.continuation.finish(throwing: error) }
}
