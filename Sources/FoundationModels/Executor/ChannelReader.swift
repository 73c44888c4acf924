internal import Dibit
internal import DibitJSON
#if FoundationModels27
  internal import Foundation
#endif

/// Makes a step of the events of a channel.
struct ChannelReader {
  private typealias Channel = LanguageModelExecutorGenerationChannel

  private struct Segment {
    var id: String?
    var text = ""
    var tokens = 0
    /// The segment, where it is none of text.
    var other: Transcript.Segment?

    /// The segment as a transcript has it.
    var entry: Transcript.Segment {
      other ?? .text(id.map { Transcript.TextSegment(id: $0, content: text) } ?? Transcript.TextSegment(content: text))
    }
  }

  private struct Call {
    var id: String
    var name: String
    var arguments = ""
    var tokens = 0
    var metadata: [String: GeneratedContent] = [:]
  }

  /// Thoughts that are one entry.
  private struct Thought {
    var id: String?
    var segments: [Segment] = []
    #if FoundationModels27
      var signature: Data?
      var metadata: [String: GeneratedContent] = [:]

      /// The thoughts as a transcript has them.
      var entry: Transcript.Reasoning {
        var reasoning = Transcript.Reasoning(segments: segments.map(\.entry), signature: signature)
        reasoning.metadata = metadata
        if let id { reasoning.id = id }
        return reasoning
      }
    #endif
  }

  private let isText: Bool
  private let start = ContinuousClock.now
  private var segments: [Segment] = []
  private var thoughts: [Thought] = []
  /// The number of thoughts that were there when the answer began; nil where it has not.
  private var thoughtsAhead: Int?
  private var calls: [Call] = []
  private var made = ModelStep()

  /// A reader of an answer that is text, or JSON.
  init(isText: Bool) { self.isText = isText }

  /// Segments are parts of one text: whoever wants something between them says it.
  private var text: String { segments.filter { $0.other == nil }.map(\.text).joined() }

  /// Reads an event, and returns what it does to the text of the answer.
  mutating func read(_ event: LanguageModelExecutorGenerationChannel.Event) -> [StepPiece] {
    if made.firstSeconds == 0 { made.firstSeconds = (ContinuousClock.now - start) / .seconds(1) }
    switch event.content {
    case .response(let response):
      made.responseID = made.responseID ?? response.entryID
      if case .updateUsage = response.action.operation {} else { thoughtsAhead = thoughtsAhead ?? thoughts.count }
      return read(response.action)
    case .reasoning(let reasoning):
      read(reasoning.action, of: thought(reasoning.entryID))
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
    step.hasAnswer = !text.isEmpty || !made.metadata.isEmpty || segments.contains { $0.id != nil }
    if !isText {
      step.segments = segments.compactMap(\.other)
    } else if segments.contains(where: { $0.id != nil }) || segments.count > 1 {
      step.segments = segments.map(\.entry)
    }
    #if FoundationModels27
      let ahead = step.hasAnswer ? thoughtsAhead ?? thoughts.count : thoughts.count
      (step.reasoning, step.laterReasoning) = (thoughts[..<ahead].map(\.entry), thoughts[ahead...].map(\.entry))
    #endif
    step.calls = try calls.map { call in
      let json = call.arguments.isEmpty ? "{}" : call.arguments
      guard let arguments = try? JSONValue(parsing: json) else {
        throw SessionFailure.undecodable(
          raw: json, "The arguments of the tool '\(call.name)' are not JSON. The model made: \(json)"
        ).error
      }
      return ModelStep.Call(call: ToolCall(id: call.id, name: call.name, arguments: arguments), metadata: call.metadata)
    }
    return step
  }

  // MARK: Answers

  private mutating func read(_ action: Channel.Response.Action) -> [StepPiece] {
    switch action.operation {
    case .appendText(let fragment):
      let index = Self.index(of: fragment.segmentID, in: &segments)
      count(fragment.tokenCount)
      segments[index].text += fragment.content
      segments[index].tokens += fragment.tokenCount
      guard index == segments.lastIndex(where: { $0.other == nil }) else { return [.restart, .text(text, made.usage)] }
      return [.text(fragment.content, made.usage)]
    case .replaceTextSegment(let replacement):
      let index = Self.index(of: replacement.segmentID, in: &segments)
      count(replacement.tokenCount - segments[index].tokens)
      (segments[index].text, segments[index].tokens) = (replacement.content, replacement.tokenCount)
      // No text is no snapshot.
      return text.isEmpty ? [.restart] : [.restart, .text(text, made.usage)]
    #if FoundationModels27
      case .addAttachmentSegment(let segment): put(.attachment(segment))
      case .removeAttachmentSegment(let id): segments.removeAll { $0.other != nil && $0.id == id }
    #endif
    case .updateMetadata(let metadata): made.metadata = metadata.values
    case .updateUsage(let usage): report(usage)
    }
    return []
  }

  #if FoundationModels27
    /// Puts a segment that is none of text behind the others, or in the place of one of its name.
    private mutating func put(_ other: Transcript.Segment) {
      let segment = Segment(id: other.id, other: other)
      if let index = segments.firstIndex(where: { $0.other != nil && $0.id == other.id }) {
        segments[index] = segment
      } else {
        segments.append(segment)
      }
    }
  #endif

  /// The index of a segment of text, which is made where there is none.
  private static func index(of id: String?, in segments: inout [Segment]) -> Int {
    let index = segments.lastIndex { $0.other == nil && (id == nil || $0.id == id) }
    if let index { return index }
    segments.append(Segment(id: id))
    return segments.count - 1
  }

  // MARK: Thoughts and calls

  /// The index of the thoughts of an entry, which begin where there are none; nil is the last.
  private mutating func thought(_ id: String?) -> Int {
    let index = thoughts.lastIndex { id == nil || $0.id == id }
    if let index { return index }
    thoughts.append(Thought(id: id))
    return thoughts.count - 1
  }

  private mutating func read(_ action: Channel.Reasoning.Action, of thought: Int) {
    switch action.operation {
    case .appendText(let fragment):
      let index = Self.index(of: fragment.segmentID, in: &thoughts[thought].segments)
      thoughts[thought].segments[index].text += fragment.content
      thoughts[thought].segments[index].tokens += fragment.tokenCount
      countThoughts(fragment.tokenCount)
    case .replaceTextSegment(let replacement):
      let index = Self.index(of: replacement.segmentID, in: &thoughts[thought].segments)
      countThoughts(replacement.tokenCount - thoughts[thought].segments[index].tokens)
      thoughts[thought].segments[index].text = replacement.content
      thoughts[thought].segments[index].tokens = replacement.tokenCount
    case .updateSignature(let signature):
      #if FoundationModels27
        thoughts[thought].signature = signature.signature
      #endif
      countThoughts(signature.tokenCount)
    case .updateUsage(let usage): report(usage)
    #if FoundationModels27
      case .updateMetadata(let metadata): thoughts[thought].metadata = metadata.values
    #else
      case .updateMetadata: break  // Of thoughts nothing is kept.
    #endif
    }
  }

  private mutating func read(_ action: Channel.ToolCalls.Action) {
    switch action.operation {
    case .toolCall(let event):
      let index = calls.firstIndex { $0.id == event.id } ?? calls.count
      if index == calls.count { calls.append(Call(id: event.id, name: event.name)) }
      switch event.action.operation {
      case .appendArguments(let fragment):
        calls[index].arguments += fragment.content
        calls[index].tokens += fragment.tokenCount
        count(fragment.tokenCount)
      case .updateMetadata(let metadata): calls[index].metadata = metadata.values
      }
    case .removeToolCall(let id): calls.removeAll { $0.id == id }
    case .updateMetadata(let metadata): made.metadata = metadata.values
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
    made.usage.metadata = usage.metadata
  }
}
