extension Transcript.Segment {
  /// The text, or the JSON of the value.
  var text: String {
    switch self {
    case .text(let segment): segment.content
    case .structure(let segment): segment.content.jsonString
    #if FoundationModels27
      // Who cannot see is not asked.
      case .attachment: ""
    #endif
    }
  }
}

extension [Transcript.Segment] {
  /// The segments as text, one under the other; values as their JSON.
  var text: String { map(\.text).joined(separator: "\n") }

  /// Puts lists of segments one under the other. Neighbouring texts become one, which has the identifier of the first; a list that is alone
  /// stays as it is.
  static func lines(_ lists: [[Transcript.Segment]]) -> [Transcript.Segment] {
    let nonempty = lists.filter { !$0.isEmpty }
    if nonempty.count == 1 { return nonempty[0] }
    var joined: [Transcript.Segment] = []
    var open: (id: String, lines: [String])?
    func close() {
      if let text = open { joined.append(.text(Transcript.TextSegment(id: text.id, content: text.lines.joined(separator: "\n")))) }
      open = nil
    }
    for list in nonempty {
      for segment in list {
        switch segment {
        case .text(let text):
          if open == nil { open = (text.id, []) }
          open?.lines.append(text.content)
        default:
          close()
          joined.append(segment)
        }
      }
    }
    close()
    return joined
  }
}

extension Transcript.Instructions {
  /// The segments as text, one under the other; values as their JSON.
  var text: String { segments.text }
}

extension Transcript.Prompt {
  /// The segments as text, one under the other; values as their JSON.
  var text: String { segments.text }
}

extension Transcript.ToolOutput {
  /// The segments as text, one under the other; values as their JSON.
  var text: String { segments.text }
}

extension Transcript.Response {
  /// The segments as text, one under the other; values as their JSON.
  var text: String { segments.text }
}

extension Transcript {
  /// The segments of what a tool returned: a text segment for a text, a value with its type for one that has a structure, and otherwise the
  /// parts of the prompt that it is.
  static func segments(of output: some PromptRepresentable) -> [Segment] {
    if let text = output as? String { return [.text(TextSegment(content: text))] }
    if let value = output as? any ConvertibleToGeneratedContent {
      return [.structure(StructuredSegment(source: String(describing: type(of: output)), content: value.generatedContent))]
    }
    return output.promptRepresentation.segments
  }
}
