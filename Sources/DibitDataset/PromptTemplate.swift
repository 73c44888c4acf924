package import DibitFailure

/// The form of a prompt from an instruction and a text, where the chat template of the tokenizer is not wanted:
/// "{instruction}\n{text}\nTopic: ".
///
/// `{text}` must be there once and `{instruction}` at most once; other braces are themselves, unless a word of small letters stands
/// between them, which looks like a misspelling. Control tokens may be spelled out in the template; the text cannot spell any.
package struct PromptTemplate: Equatable, Sendable {
  /// The template as it was written.
  package let text: String

  /// Checks a template.
  package init(_ text: String) throws(PromptTemplateError) {
    for name in Self.placeholders(in: text) where name != "text" && name != "instruction" { throw .unknownPlaceholder(name) }
    let counts = ["text", "instruction"].map { name in Self.placeholders(in: text).count { $0 == name } }
    guard counts[0] == 1 else { throw .textCount(counts[0]) }
    guard counts[1] <= 1 else { throw .instructionCount(counts[1]) }
    self.text = text
  }

  /// Returns the parts before and behind the text once the instruction is in its place.
  func parts(instruction: String) -> (head: String, tail: String) {
    guard let range = text.firstRange(of: "{text}") else { return (text, "") }
    func filled(_ part: Substring) -> String { String(part.replacing("{instruction}", with: instruction)) }
    return (filled(text[..<range.lowerBound]), filled(text[range.upperBound...]))
  }

  /// The words of small letters that stand in braces.
  private static func placeholders(in text: String) -> [String] {
    text.split(separator: "{", omittingEmptySubsequences: false).dropFirst().compactMap { part in
      guard let end = part.firstIndex(of: "}"), end > part.startIndex else { return nil }
      let name = part[..<end]
      return name.allSatisfy { ("a"..."z").contains($0) || $0 == "_" } ? String(name) : nil
    }
  }
}

/// The reasons for which a text is no prompt template.
package enum PromptTemplateError: EngineError, Equatable {
  case textCount(Int)
  case instructionCount(Int)
  case unknownPlaceholder(String)

  /// The kind of failure.
  package var kind: FailureKind { .badData }

  /// One sentence: what was expected and found.
  package var description: String {
    switch self {
    case .textCount(let count): "the prompt template: '{text}' once expected, \(count) times found"
    case .instructionCount(let count): "the prompt template: '{instruction}' at most once expected, \(count) times found"
    case .unknownPlaceholder(let name): "the prompt template: '{text}' and '{instruction}' expected, \(quoted("{" + name + "}")) found"
    }
  }
}
