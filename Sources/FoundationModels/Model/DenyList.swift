internal import Foundation
internal import Synchronization

/// Words and phrases that prompts and answers must not have: one on each line of a file; empty lines, and lines that begin with `#`, say
/// nothing.
///
/// They are looked for as whole words, whatever their case and the space between them.
struct DenyList: Sendable {
  /// Each phrase as its words.
  private let phrases: [[String]]
  private let longest: Int

  init(_ text: String) {
    phrases = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("#") }.map { Self.words(String($0)) }.filter { !$0.isEmpty }
    longest = phrases.map(\.count).max() ?? 0
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

  /// Refuses entries with a word of the list.
  func check(_ entries: [Transcript.Entry]) throws(LanguageModelSession.GenerationError) {
    for case .prompt(let prompt) in entries { try check(prompt.text) }
  }

  /// Refuses a text with a word of the list; of one that goes on, the last word is not known yet.
  func check(_ text: String, isWhole: Bool = true) throws(LanguageModelSession.GenerationError) {
    guard !phrases.isEmpty else { return }
    let words = Array(Self.words(text).dropLast(isWhole ? 0 : 1))
    for start in words.indices {
      guard let found = phrases.first(where: { words[start...].starts(with: $0) }) else { continue }
      throw .guardrailViolation(.init(debugDescription: "the deny list has '\(found.joined(separator: " "))'"))
    }
  }

  private static func words(_ text: String) -> [String] {
    text.lowercased().split { !$0.isLetter && !$0.isNumber && $0 != "'" }.map(String.init)
  }
}
