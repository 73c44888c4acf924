/// Work that is under way on threads of its own: an asynchronous sequence of what happens, and a value in the end.
///
/// It begins at once. Iterate it once to see what happens, ask for ``value`` to get what comes of it, or do both; an error of the work ends
/// either. The work stops when the task that waits for it is cancelled, by ``cancel()``, and when nobody holds the job any more.
///
/// ```swift
/// let job = model.generate("Name three rivers.")
/// for try await piece in job { print(piece, terminator: "") }
/// print(try await job.value.tokens.count, "tokens")
/// ```
public final class Job<Event: Sendable, Value: Sendable>: AsyncSequence, Sendable {
  /// The events of the work.
  public typealias Element = Event
  /// The reason for which the work ended.
  public typealias Failure = DibitError

  private let events: AsyncStream<Event>
  private let outcome = Promise<Result<Value, DibitError>>()
  private let cancellation = Cancellation()

  /// The connection of the work to its job: the work tells its events, and is told when to end.
  struct Reporter: Sendable {
    fileprivate let continuation: AsyncStream<Event>.Continuation
    fileprivate let cancellation: Cancellation

    var isCancelled: Bool { cancellation.isRequested }

    /// Reports an event; false when the work should end.
    func callAsFunction(_ event: Event) -> Bool {
      continuation.yield(event)
      return !isCancelled
    }
  }

  /// Begins `body` on a worker. Of more than `buffered` events that nobody has taken the oldest are forgotten.
  ///
  /// A body that ends because it was cancelled throws ``DibitError/cancelled``, or an engine's error of that kind.
  init(on worker: Worker, buffered: Int = .max, _ body: @escaping @Sendable (Reporter) throws -> Value) {
    let (events, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: buffered == .max ? .unbounded : .bufferingNewest(buffered))
    self.events = events
    let (outcome, cancellation) = (outcome, cancellation)
    worker.begin {
      let result = Result<Value, any Error> {
        guard !cancellation.isRequested else { throw DibitError.cancelled }
        return try body(Reporter(continuation: continuation, cancellation: cancellation))
      }
      // Before the end of the events: whoever sees that finds the outcome.
      outcome.fulfil(result.mapError { DibitError($0) })
      continuation.finish()
    }
  }

  deinit { cancellation.request() }

  /// The result of the work, once it is done.
  ///
  /// When the calling task is cancelled the work is told to stop; the error comes when it has.
  ///
  /// ```swift
  /// let response = try await model.generate("Name three rivers.").value
  /// ```
  ///
  /// - Throws: ``DibitError``; its kind is ``DibitError/Kind/cancelled`` for work that was stopped.
  public var value: Value {
    get async throws(DibitError) {
      let result = await withTaskCancellationHandler {
        await outcome.value
      } onCancel: {
        cancel()
      }
      return try result.get()
    }
  }

  /// Asks the work to stop. It ends soon, with an error of the kind ``DibitError/Kind/cancelled`` unless it was done.
  ///
  /// ```swift
  /// let job = model.train(on: "notes", to: "adapter")
  /// job.cancel()
  /// ```
  public func cancel() { cancellation.request() }

  /// Begins to iterate over what happens.
  ///
  /// ```swift
  /// for try await piece in model.generate("Name three rivers.") { print(piece) }
  /// ```
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(job: self, events: events.makeAsyncIterator()) }

  /// Goes through what happens.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let job: Job
    fileprivate var events: AsyncStream<Event>.AsyncIterator

    /// Returns the next event; nil at the end.
    ///
    /// ```swift
    /// var iterator = job.makeAsyncIterator()
    /// let first = try await iterator.next()
    /// ```
    ///
    /// - Throws: ``DibitError`` where the work failed, or was cancelled.
    public mutating func next() async throws(DibitError) -> Event? { try await next(isolation: #isolation) }

    /// Returns the next event, on the actor of the caller; nil at the end.
    ///
    /// - Parameters:
    ///   - actor: The actor on which the iteration runs.
    /// - Throws: ``DibitError`` where the work failed, or was cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(DibitError) -> Event? {
      if let event = await events.next(isolation: actor) { return event }
      // A cancelled task sees no more events, and the work's own end tells why.
      _ = try await job.value
      return nil
    }
  }
}
