internal import Yams

/// One mapping of a recipe, and the settings that win over it. Every key must be asked for by the time ``refuseUnknownKeys()`` is called: what is left
/// is unknown.
struct RecipeReader {
  /// A key with its value.
  private struct Member {
    let key: String
    let file: String
    let line: Int
    let value: Node
  }

  let file: String
  private let path: String
  private let members: [Member]
  private let settings: [RecipeSetting]
  private var asked: [String] = []
  private var sections: [String] = []

  /// Reads the mapping at the top of a file, or an empty one where there is no text.
  init(yaml text: String?, file: String, settings: [String] = []) throws(RecipeError) {
    var parsed: [RecipeSetting] = []
    for setting in settings { parsed.append(try RecipeSetting(setting)) }
    guard let text else {
      try self.init(nil, path: "", file: file, settings: parsed)
      return
    }
    guard let node = try Self.compose(text, file: file) else { throw .syntax(file: file, line: 1, problem: "the recipe is empty") }
    try self.init(node, path: "", file: file, settings: parsed)
  }

  /// The document of a text; nil when it has none.
  static func compose(_ text: String, file: String) throws(RecipeError) -> Node? {
    do { return try Yams.compose(yaml: text) } catch {
      if case .duplicatedKeysInMapping(let keys, let context)? = error as? YamlError, let key = keys.first {
        throw .duplicateKey(file: file, line: Self.repetition(of: key, after: context.mark, in: text), key: key)
      }
      let (line, problem) = Self.fault(error, in: text)
      throw .syntax(file: file, line: line, problem: problem.split(separator: "\n").joined(separator: " "))
    }
  }

  /// The line of a fault that the parser found, and what it is: never the text around it, which may be anything.
  private static func fault(_ error: any Error, in text: String) -> (line: Int, problem: String) {
    switch error as? YamlError {
    case .parser(_, let problem, let mark, _)?, .scanner(_, let problem, let mark, _)?, .composer(_, let problem, let mark, _)?:
      (mark.line, problem)
    case .reader(let problem, let offset, _, _)?:
      (text.utf8.prefix(offset ?? 0).count { $0 == UInt8(ascii: "\n") } + 1, "this is no YAML text: \(problem)")
    default: (1, "\(error)")
    }
  }

  private init(_ node: Node?, path: String, file: String, line: Int? = nil, settings: [RecipeSetting]) throws(RecipeError) {
    (self.file, self.path, self.settings) = (file, path, settings)
    guard let node else {
      members = []
      return
    }
    guard let mapping = node.mapping else {
      let (line, found) = (line ?? node.mark?.line ?? 1, Self.shown(node))
      guard !path.isEmpty else { throw .syntax(file: file, line: line, problem: "the recipe: expected keys and values, found \(found)") }
      throw .wrongValue(file: file, line: line, key: String(path.dropLast()), expected: "keys and values", found: found)
    }
    var members: [Member] = []
    for (key, value) in mapping {
      let line = line ?? key.mark?.line ?? 1
      guard let name = key.string else { throw .syntax(file: file, line: line, problem: "a key must be text") }
      guard !members.contains(where: { $0.key == name }) else { throw .duplicateKey(file: file, line: line, key: path + name) }
      members.append(Member(key: name, file: file, line: line, value: value))
    }
    self.members = members
  }

  /// The line on which `key` appears again in the column of `mark`, its first place; that place's line when it is not found.
  private static func repetition(of key: String, after mark: Mark, in text: String) -> Int {
    let indented = String(repeating: " ", count: max(0, mark.column - 1)) + key + ":"
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.indices.dropFirst(mark.line).first { lines[$0].hasPrefix(indented) }.map { $0 + 1 } ?? mark.line
  }

  /// The value of a key: the last setting of it, or what the file says.
  private mutating func member(_ key: String) -> Member? {
    asked.append(key)
    if let setting = settings.last(where: { $0.path == [key] }) {
      return Member(key: key, file: RecipeSetting.file, line: 0, value: setting.value)
    }
    return members.first { $0.key == key }
  }

  mutating func string(_ key: String) throws(RecipeError) -> String? {
    guard let member = member(key) else { return nil }
    guard let text = member.value.string, !text.isEmpty else { throw wrong(member, "text") }
    return text
  }

  /// One of some words; `advice` stands behind them where it is another.
  mutating func string(_ key: String, oneOf allowed: [String], advice: String? = nil) throws(RecipeError) -> String? {
    guard let member = member(key) else { return nil }
    guard let text = member.value.string, allowed.contains(text) else {
      throw wrong(member, allowed.joined(separator: ", ") + (advice.map { " (\($0))" } ?? ""))
    }
    return text
  }

  /// A list of numbers of a form that `expected` says in words.
  mutating func numbers(_ key: String, _ expected: String, _ isRight: ([Double]) -> Bool) throws(RecipeError) -> [Double]? {
    guard let member = member(key) else { return nil }
    guard let items = member.value.sequence else { throw wrong(member, expected) }
    let values = items.compactMap(\.float)
    guard values.count == items.count, isRight(values) else {
      let shown = items.prefix(8).map { $0.string ?? "…" }.joined(separator: ", ") + (items.count > 8 ? ", …" : "")
      throw wrong(member, expected, found: "[\(shown)]")
    }
    return values
  }

  mutating func int(_ key: String, _ range: ClosedRange<Int>) throws(RecipeError) -> Int? {
    guard let member = member(key) else { return nil }
    guard let value = member.value.int, range.contains(value) else {
      throw wrong(member, "a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  mutating func seed(_ key: String) throws(RecipeError) -> UInt64? {
    guard let member = member(key) else { return nil }
    guard let seed = member.value.string.flatMap(UInt64.init) else { throw wrong(member, "a whole number from 0 to \(UInt64.max)") }
    return seed
  }

  mutating func int(_ key: String, oneOf allowed: [Int]) throws(RecipeError) -> Int? {
    guard let member = member(key) else { return nil }
    guard let value = member.value.int, allowed.contains(value) else {
      throw wrong(member, allowed.map { String($0) }.joined(separator: ", "))
    }
    return value
  }

  mutating func number(_ key: String, _ range: ClosedRange<Double>) throws(RecipeError) -> Double? {
    guard let member = member(key) else { return nil }
    guard let value = member.value.float, range.contains(value) else {
      throw wrong(member, "a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  /// The value of a key where either a word or a number for each of some names is expected.
  enum WordOrNumbers {
    case word(String)
    case numbers([(key: String, value: Double)])
  }

  /// One of some words, or a mapping of any names to numbers, in its order.
  mutating func numbers(_ key: String, _ range: ClosedRange<Double>, or words: [String]) throws(RecipeError) -> WordOrNumbers? {
    guard let member = member(key) else { return nil }
    guard let mapping = member.value.mapping else {
      guard let word = member.value.string, words.contains(word) else {
        throw wrong(member, words.joined(separator: ", ") + " or names with numbers")
      }
      return .word(word)
    }
    var numbers: [(key: String, value: Double)] = []
    for (name, value) in mapping {
      guard let name = name.string else { throw wrong(member, "names with numbers", found: name) }
      guard let number = value.float, range.contains(number) else {
        throw wrong(member, "a number from \(range.lowerBound) to \(range.upperBound)", found: value, under: name)
      }
      numbers.append((name, number))
    }
    return .numbers(numbers)
  }

  mutating func bool(_ key: String) throws(RecipeError) -> Bool? {
    guard let member = member(key) else { return nil }
    guard let value = member.value.bool else { throw wrong(member, "true or false") }
    return value
  }

  mutating func strings(_ key: String, oneOf allowed: [String]) throws(RecipeError) -> [String]? {
    guard let member = member(key) else { return nil }
    guard let sequence = member.value.sequence, !sequence.isEmpty else { throw wrong(member, "a list of one name or more") }
    var values: [String] = []
    for item in sequence {
      guard let text = item.string, allowed.contains(text) else {
        throw wrong(member, "names among \(allowed.joined(separator: ", "))", found: item)
      }
      values.append(text)
    }
    return values
  }

  /// One text or a list of them.
  mutating func strings(_ key: String) throws(RecipeError) -> [String]? {
    guard let member = member(key) else { return nil }
    let items = member.value.sequence.map(Array.init) ?? [member.value]
    guard !items.isEmpty else { throw wrong(member, "text or a list of texts") }
    var texts: [String] = []
    for item in items {
      guard let text = item.string, !text.isEmpty else { throw wrong(member, "text or a list of texts", found: item) }
      texts.append(text)
    }
    return texts
  }

  /// The mapping under a key; settings of its keys make one where the file has none.
  mutating func section(_ key: String) throws(RecipeError) -> RecipeReader? {
    sections.append(key)
    let inner = settings.compactMap { $0.below(key) }
    let member = member(key)
    guard member != nil || !inner.isEmpty else { return nil }
    return try RecipeReader(
      member?.value, path: path + key + ".", file: member?.file ?? file, line: member?.line == 0 ? 0 : nil, settings: inner)
  }

  /// Throws for the first key that nobody asked for.
  func refuseUnknownKeys() throws(RecipeError) {
    let set = settings.map { setting in
      let isInside = setting.path.count > 1 && !sections.contains(setting.path[0])
      return (key: isInside ? setting.path.joined(separator: ".") : setting.path[0], file: RecipeSetting.file, line: 0)
    }
    let all = members.map { (key: $0.key, file: $0.file, line: $0.line) } + set
    if let stray = all.first(where: { !asked.contains($0.key) }) {
      let nearest = suggestion(for: stray.key, among: asked.sorted()).map { path + $0 }
      throw .unknownKey(file: stray.file, line: stray.line, key: path + stray.key, suggestion: nearest, allowed: asked.sorted())
    }
  }

  /// The fault of a value, with what is there in words.
  private func wrong(_ member: Member, _ expected: String, found: String) -> RecipeError {
    .wrongValue(file: member.file, line: member.line, key: path + member.key, expected: expected, found: found)
  }

  /// The fault of a value, or of the part of it that is wrong: `found`, an item or what stands under a name.
  private func wrong(_ member: Member, _ expected: String, found: Node? = nil, under name: String? = nil) -> RecipeError {
    // A setting has no lines.
    .wrongValue(
      file: member.file, line: member.line == 0 ? 0 : found?.mark?.line ?? member.line,
      key: path + member.key + (name.map { "." + $0 } ?? ""), expected: expected, found: Self.shown(found ?? member.value))
  }

  /// A value in a sentence: text in quotes, anything else by its kind.
  private static func shown(_ value: Node) -> String {
    if let text = value.string { return "'\(text)'" }
    if let list = value.sequence { return list.isEmpty ? "an empty list" : "a list" }
    return "a section"
  }
}
