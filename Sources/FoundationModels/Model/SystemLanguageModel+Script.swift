internal import Foundation

extension SystemLanguageModel {
  /// Refuses a prompt that is not written in the script of any language that the model's makers name. An adapter may have learnt others.
  ///
  /// Latin letters are never foreign: names and programs have them in all languages.
  ///
  /// - Parameter entries: The entries of the conversation, of which the last prompt counts.
  /// - Throws: ``LanguageModelSession/GenerationError/unsupportedLanguageOrLocale(_:)``
  func checkScript(of entries: [Transcript.Entry]) throws {
    guard adapter == nil, let entry = entries.last(where: { if case .prompt = $0 { true } else { false } }) else { return }
    let letters = entry.segments.text.unicodeScalars.lazy.filter(\.properties.isAlphabetic).prefix(Self.letterLimit)
    let foreign = letters.filter { !$0.isASCII }
    // Nearly all prompts end here.
    guard foreign.count * 2 > letters.count else { return }
    let languages = supportedLanguages
    guard !languages.isEmpty, let scripts = Self.scripts(of: languages) else { return }
    let count = foreign.count { scalar in scripts.allSatisfy { String(scalar).wholeMatch(of: $0) == nil } }
    guard count * 2 > letters.count else { return }
    let names = languages.map(\.minimalIdentifier).sorted().joined(separator: ", ")
    throw SessionFailure.foreignScript(
      "the makers of the model name \(names); \(count) of \(letters.count) letters of the prompt are of other scripts"
    ).error
  }

  /// Letters at the beginning of a prompt that are looked at.
  private static let letterLimit = 1_000

  /// Patterns of a letter of the scripts of languages, Latin among them; nil where one is not known.
  private static func scripts(of languages: Set<Locale.Language>) -> [Regex<AnyRegexOutput>]? {
    var names: Set = ["Latn"]
    for language in languages {
      guard let code = language.script?.identifier else { return nil }
      // Codes of ISO 15924 for what is written in several scripts.
      names.formUnion(["Jpan": ["Hira", "Kana", "Hani"], "Kore": ["Hang", "Hani"], "Hans": ["Hani"], "Hant": ["Hani"]][code] ?? [code])
    }
    let patterns = names.compactMap { try? Regex("\\p{Script=\($0)}") }
    return patterns.count == names.count ? patterns : nil
  }
}
