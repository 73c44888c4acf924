internal import Foundation
internal import Synchronization

/// Words and phrases that prompts and answers must not have: one on each line of a file; empty lines, and lines that begin with `#`, say
/// nothing. Behind `=>` a line may have an explanation, which is said instead.
///
/// They are looked for as whole words, whatever their case and the space between them.
struct DenyList: Sendable {
  private struct Phrase {
    var words: [String]
    var explanation: String?
  }

  private let phrases: [Phrase]

  init(_ text: String) {
    phrases = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("#") }.compactMap { line in
      let arrow = line.range(of: "=>")
      let words = Self.words(String(line[..<(arrow?.lowerBound ?? line.endIndex)]))
      let explanation = arrow.map { line[$0.upperBound...].trimmingCharacters(in: .whitespaces) }
      return words.isEmpty ? nil : Phrase(words: words, explanation: explanation?.isEmpty == true ? nil : explanation)
    }
  }

  /// A word or a phrase of the list that a text has.
  struct Match: Error {
    let phrase: String
    /// The answer instead; nil for none.
    let explanation: String?

    /// The failure of a request: a refusal where there is an explanation.
    func failure(after entries: [Transcript.Entry]) -> SessionFailure {
      let words = "the deny list has '\(phrase)'"
      return explanation.map { .refused(explanation: $0, entries, words) } ?? .denied(words)
    }
  }

  private static let cache = Mutex<(path: String, date: Date, list: DenyList)?>(nil)

  /// The list that is installed on this machine, as it stands now; nil for none.
  static func installed(_ location: ModelLocation = ModelLocation()) -> DenyList? {
    guard let path = location.denyList, let attributes = try? FileManager.default.attributesOfItem(atPath: path),
      let date = attributes[.modificationDate] as? Date
    else { return nil }
    if let known = cache.withLock({ $0 }), known.path == path, known.date == date { return known.list }
    guard let data = FileManager.default.contents(atPath: path) else { return nil }
    let list = DenyList(String(decoding: data, as: UTF8.self))
    cache.withLock { $0 = (path, date, list) }
    return list
  }

  /// Refuses prompts with a word of the list.
  func check(_ entries: [Transcript.Entry]) throws(Match) {
    for case .prompt(let prompt) in entries { try check(prompt.text) }
  }

  /// Refuses a text with a word of the list; of one that goes on, the last word is not known yet.
  func check(_ text: String, isWhole: Bool = true) throws(Match) {
    guard !phrases.isEmpty else { return }
    let words = Array(Self.words(text).dropLast(isWhole ? 0 : 1))
    for start in words.indices {
      guard let found = phrases.first(where: { words[start...].starts(with: $0.words) }) else { continue }
      throw Match(phrase: found.words.joined(separator: " "), explanation: found.explanation)
    }
  }

  private static func words(_ text: String) -> [String] {
    text.lowercased().split { !$0.isLetter && !$0.isNumber && $0 != "'" }.map(String.init)
  }
}
