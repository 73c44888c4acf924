internal import Foundation
internal import Synchronization

extension LanguageModelSession {
  /// An answer as it is made: a sequence of snapshots, each of all that there is so far.
  ///
  /// The model begins when the stream is made. A loop that ends early ends the turn, and so does the cancellation of the task that iterates:
  /// the session is then free, and its transcript as it was before.
  public struct ResponseStream<Content>: AsyncSequence where Content: Generable {
    /// The answer so far.
    public struct Snapshot {
      /// The parts of the answer that are there.
      public var content: Content.PartiallyGenerated
      /// The answer so far as the model made it.
      public var rawContent: GeneratedContent
      /// The entries that the turn had added to the transcript by then: the prompt, and calls of tools with what they gave.
      public var transcriptEntries: ArraySlice<Transcript.Entry>
      /// The tokens that went in and out so far.
      public var usage: Usage
    }

    /// The snapshots.
    public typealias Element = Snapshot
    /// The reasons for which a turn ends early.
    public typealias Failure = any Swift.Error

    let turn: StreamedTurn

    init(_ turn: StreamedTurn) { self.turn = turn }

    /// Begins to iterate; snapshots that were taken already do not come again.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(turn) }

    /// Returns the whole answer when it is made, whether or not snapshots were taken.
    ///
    /// - Throws: As ``LanguageModelSession/respond(to:options:)-(Prompt,_)``.
    public nonisolated(nonsending) func collect() async throws -> sending Response<Content> {
      let raw = try await turn.value()
      return try raw.response(of: Content.self)
    }

    /// Goes through snapshots.
    public struct AsyncIterator: AsyncIteratorProtocol {
      private let turn: StreamedTurn
      private let guardian: StreamedTurn.Iteration
      private var pieces: AsyncStream<StreamedTurn.Piece>.AsyncIterator
      private var text = ""
      private var content: StreamedContent
      private var last: GeneratedContent?
      private var hasEnded = false

      init(_ turn: StreamedTurn) {
        self.turn = turn
        guardian = StreamedTurn.Iteration(turn)
        pieces = turn.pieces.makeAsyncIterator()
        content = StreamedContent(id: turn.id)
      }

      /// Returns the next snapshot; nil behind the last.
      ///
      /// - Throws: As ``LanguageModelSession/respond(to:options:)-(Prompt,_)``.
      public mutating func next() async throws -> Snapshot? { try await next(isolation: #isolation) }

      /// Returns the next snapshot, on the actor of the caller; nil behind the last.
      ///
      /// - Parameter actor: The actor on which the iteration runs.
      /// - Throws: As ``LanguageModelSession/respond(to:options:)-(Prompt,_)``.
      public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Snapshot? {
        guard !hasEnded else { return nil }
        while let piece = await pieces.next(isolation: actor) {
          switch piece {
          case .restart: text = ""
          case .text(let piece, let usage, let entries):
            text += piece
            if let snapshot = snapshot(usage, entries) { return snapshot }
          }
        }
        hasEnded = true
        guardian.end()
        let raw = try await turn.value()
        // An answer that came without a piece, or whose end changed what shows.
        let whole = turn.isText ? GeneratedContent(raw.text, id: turn.id) : try content.update(raw.text)
        guard last != whole else { return nil }
        return Snapshot(content: try partial(whole), rawContent: whole, transcriptEntries: raw.entries, usage: raw.usage)
      }

      private func partial(_ content: GeneratedContent) throws -> Content.PartiallyGenerated {
        do { return try Content.PartiallyGenerated(content) } catch {
          throw SessionFailure.undecodable(raw: content.jsonString, underlying: error, error.localizedDescription).error
        }
      }

      /// The answer so far; nil where it is nothing else than before, or not yet enough for a value.
      private mutating func snapshot(_ usage: Usage, _ entries: ArraySlice<Transcript.Entry>) -> Snapshot? {
        let made: GeneratedContent
        if turn.isText {
          made = GeneratedContent(text, id: turn.id)
        } else {
          guard let content = try? content.update(text) else { return nil }
          made = content
        }
        guard made != last, let partial = try? Content.PartiallyGenerated(made) else { return nil }
        last = made
        return Snapshot(content: partial, rawContent: made, transcriptEntries: entries, usage: usage)
      }
    }
  }
}

extension LanguageModelSession.ResponseStream<String> {
  /// A stream of words that are known already.
  static func saying(_ words: String) -> Self {
    let id = GenerationID()
    let entry = Transcript.Entry.response(Transcript.Response(assetIDs: [], segments: [.text(Transcript.TextSegment(content: words))]))
    return Self(
      StreamedTurn(id: id, isText: true, abandon: {}) { _ in
        LanguageModelSession.RawResponse(
          text: words, content: GeneratedContent(words, id: id), entries: [entry], usage: LanguageModelSession.Usage())
      })
  }
}

/// A turn whose answer is told as it is made.
final class StreamedTurn: Sendable {
  /// A part of what is made.
  enum Piece: Sendable {
    /// Words, with the tokens and the entries of the turn so far.
    case text(String, LanguageModelSession.Usage, ArraySlice<Transcript.Entry>)
    /// The text so far is no answer: it led to calls, or the answer begins anew.
    case restart
  }

  /// The identity of the answer.
  let id: GenerationID
  /// True where the answer is text.
  let isText: Bool
  let pieces: AsyncStream<StreamedTurn.Piece>
  private let task: Task<LanguageModelSession.RawResponse, any Error>
  private let abandon: @Sendable () -> Void

  /// Begins `body`, which is given the receiver of pieces. `abandon` ends the turn at once.
  init(
    id: GenerationID, isText: Bool, abandon: @escaping @Sendable () -> Void,
    _ body: @escaping @Sendable (_ receive: @Sendable (StreamedTurn.Piece) -> Void) async throws -> LanguageModelSession.RawResponse
  ) {
    (self.id, self.isText, self.abandon) = (id, isText, abandon)
    let (pieces, continuation) = AsyncStream<StreamedTurn.Piece>.makeStream()
    self.pieces = pieces
    let task = Task {
      defer { continuation.finish() }
      return try await body { continuation.yield($0) }
    }
    self.task = task
    continuation.onTermination = { if case .cancelled = $0 { task.cancel() } }
  }

  deinit { end() }

  /// The whole answer; when the calling task is cancelled the turn ends first.
  func value() async throws -> LanguageModelSession.RawResponse {
    try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Ends the turn, if it goes on.
  private func end() {
    task.cancel()
    abandon()
  }

  /// An iteration: when nobody holds it any more and it has not come to the end, the turn ends.
  final class Iteration: Sendable {
    private let turn: StreamedTurn
    private let hasEnded = Atomic(false)

    init(_ turn: StreamedTurn) { self.turn = turn }

    func end() { hasEnded.store(true, ordering: .relaxed) }

    deinit { if !hasEnded.load(ordering: .relaxed) { turn.end() } }
  }
}
