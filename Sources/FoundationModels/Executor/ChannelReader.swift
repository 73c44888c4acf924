internal import Dibit
internal import DibitJSON

/// Makes a step of the events of a channel.
struct ChannelReader {
  private typealias Channel = LanguageModelExecutorGenerationChannel

  private struct Segment {
    var id: String?
    var text = ""
    var tokens = 0
  }

  private struct Call {
    var id: String
    var name: String
    var arguments = ""
    var tokens = 0
    var metadata = TranscriptMetadata(values: [:])
  }

  private let isText: Bool
  private let start = ContinuousClock.now
  private var segments: [Segment] = []
  private var thoughts: [Segment] = []
  private var calls: [Call] = []
  private var made = ModelStep()

  /// A reader of an answer that is text, or JSON.
  init(isText: Bool) { self.isText = isText }

  /// Segments of text stand one under the other; JSON is one text.
  private var separator: String { isText ? "\n" : "" }
  private var text: String { segments.map(\.text).joined(separator: separator) }

  /// Reads an event, and returns what it does to the text of the answer.
  mutating func read(_ event: any LanguageModelExecutorGenerationChannel.Event) -> [StepPiece] {
    if made.firstSeconds == 0 { made.firstSeconds = (ContinuousClock.now - start) / .seconds(1) }
    switch event.kind.content {
    case .response(let response):
      made.responseID = made.responseID ?? response.entryID
      return read(response.action)
    case .reasoning(let reasoning): read(reasoning.action)
    case .toolCalls(let list):
      made.callsID = made.callsID ?? list.entryID
      read(list.action)
    }
    return []
  }

  /// The step, when all events were read.
  ///
  /// - Throws: ``LanguageModelSession/GenerationError/decodingFailure(_:)`` for arguments that are not JSON.
  func step() throws -> ModelStep {
    var step = made
    step.text = text
    if isText, segments.contains(where: { $0.id != nil }) || segments.count > 1 {
      step.segments = segments.map { segment in
        segment.id.map { Transcript.TextSegment(id: $0, content: segment.text) } ?? Transcript.TextSegment(content: segment.text)
      }
    }
    step.calls = try calls.map { call in
      let json = call.arguments.isEmpty ? "{}" : call.arguments
      guard let arguments = try? JSONValue(parsing: json) else {
        throw LanguageModelSession.GenerationError.decodingFailure(
          .init(debugDescription: "The arguments of the tool '\(call.name)' are not JSON. The model made: \(json)"))
      }
      return ModelStep.Call(call: ToolCall(id: call.id, name: call.name, arguments: arguments), metadata: call.metadata)
    }
    return step
  }

  // MARK: Answers

  private mutating func read(_ action: Channel.Response.Action) -> [StepPiece] {
    switch action {
    case .appendText(let fragment):
      let isNew = !segments.contains { fragment.segmentID == nil || $0.id == fragment.segmentID }
      let index = Self.index(of: fragment.segmentID, in: &segments)
      count(fragment.tokenCount)
      segments[index].text += fragment.content
      segments[index].tokens += fragment.tokenCount
      guard index == segments.count - 1 else { return [.restart, .text(text, made.usage)] }
      return [.text((isNew && index > 0 ? separator : "") + fragment.content, made.usage)]
    case .replaceTextSegment(let replacement):
      let index = Self.index(of: replacement.segmentID, in: &segments)
      count(replacement.tokenCount - segments[index].tokens)
      (segments[index].text, segments[index].tokens) = (replacement.content, replacement.tokenCount)
      // No text is no snapshot.
      return text.isEmpty ? [.restart] : [.restart, .text(text, made.usage)]
    case .updateMetadata(let metadata): made.metadata.values.merge(metadata.values) { _, new in new }
    case .updateUsage(let usage): report(usage)
    }
    return []
  }

  /// The index of a segment, which is made where there is none.
  private static func index(of id: String?, in segments: inout [Segment]) -> Int {
    let index = id == nil ? segments.indices.last : segments.lastIndex { $0.id == id }
    if let index { return index }
    segments.append(Segment(id: id))
    return segments.count - 1
  }

  // MARK: Thoughts and calls

  private mutating func read(_ action: Channel.Reasoning.Action) {
    switch action {
    case .appendText(let fragment):
      thoughts[Self.index(of: fragment.segmentID, in: &thoughts)].tokens += fragment.tokenCount
      countThoughts(fragment.tokenCount)
    case .replaceTextSegment(let replacement):
      let index = Self.index(of: replacement.segmentID, in: &thoughts)
      countThoughts(replacement.tokenCount - thoughts[index].tokens)
      thoughts[index].tokens = replacement.tokenCount
    case .updateSignature(let signature): countThoughts(signature.tokenCount)
    case .updateUsage(let usage): report(usage)
    case .updateMetadata: break  // Of thoughts nothing is kept.
    }
  }

  private mutating func read(_ action: Channel.ToolCalls.Action) {
    switch action {
    case .toolCall(let event):
      let index = calls.firstIndex { $0.id == event.id } ?? calls.count
      if index == calls.count { calls.append(Call(id: event.id, name: event.name)) }
      switch event.action {
      case .appendArguments(let fragment):
        calls[index].arguments += fragment.content
        calls[index].tokens += fragment.tokenCount
        count(fragment.tokenCount)
      case .updateMetadata(let metadata): calls[index].metadata.values.merge(metadata.values) { _, new in new }
      }
    case .removeToolCall(let id): calls.removeAll { $0.id == id }
    case .updateMetadata(let metadata): made.metadata.values.merge(metadata.values) { _, new in new }
    case .updateUsage(let usage): report(usage)
    }
  }

  // MARK: Tokens

  /// Counts tokens of what was made; fewer where a text is shorter than it was.
  private mutating func count(_ tokens: Int) { made.usage.output.totalTokenCount = max(0, made.usage.output.totalTokenCount + tokens) }

  private mutating func countThoughts(_ tokens: Int) {
    count(tokens)
    made.usage.output.reasoningTokenCount = max(0, made.usage.output.reasoningTokenCount + tokens)
  }

  /// Takes counts of the executor's instead of what was counted so far.
  private mutating func report(_ usage: Channel.Usage) {
    made.usage.input = .init(totalTokenCount: usage.input.totalTokenCount, cachedTokenCount: usage.input.cachedTokenCount)
    made.usage.output = .init(
      totalTokenCount: usage.output.totalTokenCount, reasoningTokenCount: usage.output.reasoningTokenCount)
  }
}
