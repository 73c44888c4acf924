internal import DibitJSON
internal import Synchronization

/// Calls of tools, side by side.
struct ToolRunner: Sendable {
  let tools: [any Tool]
  let trace: SessionTrace

  /// Calls the tools and returns what they gave, in the order of the calls.
  ///
  /// The first that fails ends the others. When the task is cancelled so are the tools, and nobody waits for one that does not care.
  ///
  /// - Throws: ``LanguageModelSession/ToolCallError``, or `CancellationError`.
  func run(_ calls: [Transcript.ToolCall]) async throws -> [Transcript.ToolOutput] {
    let (results, continuation) = AsyncStream<(Int, Result<Transcript.ToolOutput, any Error>)>.makeStream()
    let tasks = calls.enumerated().map { index, call in
      Task { [self] in
        let result: Result<Transcript.ToolOutput, any Error>
        do {
          result = .success(try await trace.measure(.tool, { [("tool", .string($0.toolName))] }) { try await output(of: call) })
        } catch { result = .failure(error) }
        continuation.yield((index, result))
      }
    }
    defer { for task in tasks { task.cancel() } }
    var outputs = [Transcript.ToolOutput?](repeating: nil, count: calls.count)
    var missing = calls.count
    // A cancelled task sees the end of the stream at once.
    while missing > 0, let (index, result) = await results.first(where: { _ in true }) {
      outputs[index] = try result.get()
      missing -= 1
    }
    try Task.checkCancellation()
    return outputs.compactMap { $0 }
  }

  private func output(of call: Transcript.ToolCall) async throws -> Transcript.ToolOutput {
    guard let tool = tools.first(where: { $0.name == call.toolName }) else {
      throw SessionFailure.undecodable(
        raw: call.arguments.jsonString, "The model called the tool '\(call.toolName)', which the session does not have."
      ).error
    }
    return Transcript.ToolOutput(id: call.id, toolName: call.toolName, segments: try await Self.segments(of: tool, call.arguments))
  }

  private static func segments(of tool: some Tool, _ arguments: GeneratedContent) async throws -> [Transcript.Segment] {
    do { return Transcript.segments(of: try await tool.call(arguments: .init(arguments))) } catch {
      throw LanguageModelSession.ToolCallError(tool: tool, underlyingError: error)
    }
  }
}
