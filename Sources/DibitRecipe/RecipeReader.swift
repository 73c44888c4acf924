internal import Yams

/// One mapping of a recipe. Every key must be asked for by the time ``finish()`` is called: what is left is unknown.
struct RecipeReader {
  private let file: String
  private let path: String
  private let line: Int
  private let members: [(key: String, line: Int, value: Node)]
  private var asked: [String] = []

  /// Reads the mapping at the top of a file.
  init(yaml text: String, file: String) throws(RecipeError) {
    let node: Node?
    do { node = try Yams.compose(yaml: text) } catch {
      if case .duplicatedKeysInMapping(let keys, let context)? = error as? YamlError, let key = keys.first {
        throw .duplicateKey(file: file, line: Self.repetition(of: key, after: context.mark, in: text), key: key)
      }
      var (line, problem) = (1, "\(error)")
      if case .parser(_, let reason, let mark, _)? = error as? YamlError { (line, problem) = (mark.line, reason) }
      if case .scanner(_, let reason, let mark, _)? = error as? YamlError { (line, problem) = (mark.line, reason) }
      throw .syntax(file: file, line: line, problem: String(problem.split(separator: "\n").joined(separator: " ")))
    }
    guard let node else { throw .syntax(file: file, line: 1, problem: "the recipe is empty") }
    try self.init(node, path: "", file: file)
  }

  private init(_ node: Node, path: String, file: String) throws(RecipeError) {
    guard let mapping = node.mapping else {
      let (line, found) = (node.mark?.line ?? 1, node.string ?? "a list")
      guard !path.isEmpty else { throw .syntax(file: file, line: line, problem: "the recipe: expected keys and values, found '\(found)'") }
      throw .wrongValue(file: file, line: line, key: String(path.dropLast()), expected: "keys and values", found: found)
    }
    self.file = file
    self.path = path
    line = node.mark?.line ?? 1
    var members: [(key: String, line: Int, value: Node)] = []
    for (key, value) in mapping {
      let line = key.mark?.line ?? 1
      guard let name = key.string else { throw .syntax(file: file, line: line, problem: "a key must be text") }
      guard !members.contains(where: { $0.key == name }) else { throw .duplicateKey(file: file, line: line, key: path + name) }
      members.append((key: name, line: line, value: value))
    }
    self.members = members
  }

  /// The line on which `key` appears again in the column of `mark`, its first place; that place's line when it is not found.
  private static func repetition(of key: String, after mark: Mark, in text: String) -> Int {
    let indented = String(repeating: " ", count: max(0, mark.column - 1)) + key + ":"
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.indices.dropFirst(mark.line).first { lines[$0].hasPrefix(indented) }.map { $0 + 1 } ?? mark.line
  }

  private mutating func member(_ key: String) -> (key: String, line: Int, value: Node)? {
    asked.append(key)
    return members.first { $0.key == key }
  }

  mutating func string(_ key: String) throws(RecipeError) -> String? {
    guard let member = member(key) else { return nil }
    guard let text = member.value.string, !text.isEmpty else { throw wrong(member, "text") }
    return text
  }

  mutating func int(_ key: String, _ range: ClosedRange<Int>) throws(RecipeError) -> Int? {
    guard let member = member(key) else { return nil }
    guard let value = member.value.int, range.contains(value) else {
      throw wrong(member, "a whole number from \(range.lowerBound) to \(range.upperBound)")
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

  mutating func bool(_ key: String) throws(RecipeError) -> Bool? {
    guard let member = member(key) else { return nil }
    guard let value = member.value.bool else { throw wrong(member, "true or false") }
    return value
  }

  mutating func strings(_ key: String, oneOf allowed: [String]) throws(RecipeError) -> [String]? {
    guard let member = member(key) else { return nil }
    guard let sequence = member.value.sequence, !sequence.isEmpty else { throw wrong(member, "a list") }
    var values: [String] = []
    for item in sequence {
      guard let text = item.string, allowed.contains(text) else { throw wrong(member, "names among \(allowed.joined(separator: ", "))") }
      values.append(text)
    }
    return values
  }

  mutating func section(_ key: String) throws(RecipeError) -> RecipeReader? {
    guard let member = member(key) else { return nil }
    return try RecipeReader(member.value, path: path + key + ".", file: file)
  }

  /// Throws for the first key that nobody asked for.
  func finish() throws(RecipeError) {
    guard let stray = members.first(where: { !asked.contains($0.key) }) else { return }
    let nearest = asked.min { distance($0, stray.key) < distance($1, stray.key) }
    let suggestion = nearest.flatMap { distance($0, stray.key) <= 2 ? path + $0 : nil }
    throw .unknownKey(file: file, line: stray.line, key: path + stray.key, suggestion: suggestion, allowed: asked.sorted())
  }

  private func wrong(_ member: (key: String, line: Int, value: Node), _ expected: String) -> RecipeError {
    .wrongValue(
      file: file, line: member.line, key: path + member.key, expected: expected, found: member.value.string ?? "a list or section")
  }

  /// Levenshtein's edit distance.
  private func distance(_ left: String, _ right: String) -> Int {
    let (a, b) = (Array(left.utf8), Array(right.utf8))
    var row = Array(0...b.count)
    for i in 0..<a.count {
      var previous = row[0]
      row[0] = i + 1
      for j in 0..<b.count {
        let cost = a[i] == b[j] ? previous : min(previous, row[j], row[j + 1]) + 1
        previous = row[j + 1]
        row[j + 1] = cost
      }
    }
    return row[b.count]
  }
}
