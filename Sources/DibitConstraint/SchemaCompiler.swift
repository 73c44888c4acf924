internal import DibitJSON

/// Turns a schema into a ``Grammar``: one rule for each position of the schema that a value can stand at, made one after the other, so that
/// recursive schemas are rules that name each other.
struct SchemaCompiler {
  var grammar: Grammar
  private let root: Located
  private var rules: [String: Int32] = [:]
  private var queue: [(rule: Int32, schemas: [Located])] = []
  private var effort = 0
  /// The reason for which nothing satisfies the alternative that was looked at last, where more can be said than that its keywords exclude
  /// each other.
  var exclusion: String?
  var numbers: [NumberRange: Int32] = [:]
  var literals: [String: Int32] = [:]
  var strings: [StringKey: Int32] = [:]

  struct StringKey: Hashable {
    var patterns: [SchemaKeywords.Pattern]
    var minimum: Int
    var maximum: Int?
  }

  private static let ruleLimit = 20_000
  private static let depthLimit = 64
  private static let alternativeLimit = 256
  private static let effortLimit = 50_000_000
  static let stateLimit = 1_000_000

  /// - Throws: ``ConstraintError``
  static func compile(_ schema: JSONValue, maximumDepth: Int) throws(ConstraintError) -> Grammar {
    var compiler = SchemaCompiler(root: Located(value: schema, pointer: "#"), maximumDepth: maximumDepth)
    try compiler.run()
    return compiler.grammar
  }

  private init(root: Located, maximumDepth: Int) {
    self.root = root
    grammar = Grammar(maximumDepth: maximumDepth)
  }

  private mutating func run() throws(ConstraintError) {
    guard root.value.object != nil || root.value.bool != nil else {
      throw .noSchema(found: root.value.kind)
    }
    _ = try rule(for: [root])
    var next = 0
    var empty: (pointer: String, reason: String)?
    while next < queue.count {
      let (rule, schemas) = queue[next]
      next += 1
      var nodes: [ValueNode] = []
      exclusion = nil
      for keywords in try alternatives(of: schemas) {
        for node in try self.nodes(for: keywords) where !nodes.contains(node) { nodes.append(node) }
        guard grammar.automaton.count <= Self.stateLimit else {
          throw .tooLarge(what: "states", limit: Self.stateLimit, pointer: schemas[0].pointer)
        }
      }
      if nodes.isEmpty, empty == nil, rule == 0 || schemas[0].value != .bool(false) {
        empty = (schemas[0].pointer, exclusion ?? "its keywords exclude each other")
      }
      grammar.rules[Int(rule)] = nodes
    }
    let costs = Costs(grammar, leaves: grammar.automaton.distances(using: [Bool](repeating: true, count: 256)))
    guard costs.value(0, depthLeft: grammar.maximumDepth) < Costs.impossible else {
      let tooLong = "each has more than \(grammar.maximumDepth) objects and arrays inside each other, or is longer than any text may be"
      throw .unsatisfiable(pointer: empty?.pointer ?? root.pointer, reason: empty?.reason ?? tooLong)
    }
  }

  /// The rule of values that satisfy all of the schemas.
  mutating func rule(for schemas: [Located]) throws(ConstraintError) -> Int32 {
    var seen = Set<String>()
    let schemas = schemas.filter { seen.insert($0.pointer).inserted }
    let key = schemas.map(\.pointer).sorted().joined(separator: "\n")
    if let rule = rules[key] { return rule }
    guard grammar.rules.count < Self.ruleLimit else {
      throw .tooLarge(what: "places for values", limit: Self.ruleLimit, pointer: schemas[0].pointer)
    }
    let rule = Int32(grammar.rules.count)
    rules[key] = rule
    grammar.rules.append([])
    queue.append((rule, schemas))
    return rule
  }

  // MARK: Alternatives

  mutating func alternatives(of schemas: [Located]) throws(ConstraintError) -> [SchemaKeywords] {
    var result = [SchemaKeywords(pointer: schemas[0].pointer)]
    for schema in schemas { result = try product(result, try alternatives(of: schema, depth: 0, within: []), at: schema) }
    return result
  }

  /// The ways to satisfy one schema, references and alternatives resolved.
  private mutating func alternatives(
    of schema: Located, depth: Int, within references: Set<String>
  ) throws(ConstraintError) -> [SchemaKeywords] {
    guard depth < Self.depthLimit else {
      throw .tooLarge(what: "levels of references and alternatives", limit: Self.depthLimit, pointer: schema.pointer)
    }
    try spend(1, at: schema)
    if let bool = schema.value.bool { return bool ? [SchemaKeywords(pointer: schema.pointer)] : [] }
    var links = SchemaLinks()
    var result = [try SchemaKeywords(schema, links: &links)]
    if let reference = links.reference {
      let target = try resolve(reference, from: schema)
      guard !references.contains(target.pointer) else { throw .endlessReference(reference, pointer: schema.pointer) }
      let inner = try alternatives(of: target, depth: depth + 1, within: references.union([target.pointer]))
      result = try product(result, inner, at: schema)
    }
    for part in links.all { result = try product(result, try alternatives(of: part, depth: depth + 1, within: references), at: schema) }
    for choice in links.choices {
      var union: [SchemaKeywords] = []
      for part in choice { union += try alternatives(of: part, depth: depth + 1, within: references) }
      result = try product(result, union, at: schema)
    }
    return result
  }

  private mutating func product(
    _ one: [SchemaKeywords], _ other: [SchemaKeywords], at schema: Located
  ) throws(ConstraintError) -> [SchemaKeywords] {
    var result: [SchemaKeywords] = []
    for left in one {
      for right in other {
        try spend(
          1 + left.properties.count + right.properties.count + left.required.count * right.required.count
            + (left.values?.count ?? 0) * (right.values?.count ?? 0), at: schema)
        if let merged = left.merged(with: right) { result.append(merged) }
        guard result.count <= Self.alternativeLimit else {
          throw .tooLarge(what: "combined alternatives", limit: Self.alternativeLimit, pointer: schema.pointer)
        }
      }
    }
    return result
  }

  private mutating func spend(_ amount: Int, at schema: Located) throws(ConstraintError) {
    effort += amount
    guard effort <= Self.effortLimit else {
      throw .tooLarge(what: "steps of merging", limit: Self.effortLimit, pointer: schema.pointer)
    }
  }

  // MARK: References

  private func resolve(_ reference: String, from schema: Located) throws(ConstraintError) -> Located {
    let unknown = ConstraintError.unknownReference(reference, pointer: schema.pointer)
    guard reference == "#" || reference.utf8.starts(with: "#/".utf8) else { throw unknown }
    var found = root
    for part in reference.utf8.dropFirst(2).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      if reference == "#" { break }
      guard let name = Self.unescaped(Array(part)) else { throw unknown }
      if let object = found.value.object, let value = object[name] {
        found = found.member(name, value)
      } else if let array = found.value.array, let index = Int(name), array.indices.contains(index), String(index) == name {
        found = found.member(name, array[index])
      } else {
        throw unknown
      }
    }
    guard found.value.object != nil || found.value.bool != nil else { throw unknown }
    return found
  }

  /// One part of a pointer in a fragment: `%41` stands for a byte, `~1` for a slash, `~0` for a tilde.
  private static func unescaped(_ part: [UInt8]) -> String? {
    var (bytes, index): ([UInt8], Int) = ([], 0)
    while index < part.count {
      if part[index] == UInt8(ascii: "%") {
        guard index + 2 < part.count, let byte = UInt8(String(decoding: part[index + 1...index + 2], as: UTF8.self), radix: 16) else {
          return nil
        }
        bytes.append(byte)
        index += 3
      } else {
        bytes.append(part[index])
        index += 1
      }
    }
    var text: [UInt8] = []
    index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "~") {
        guard index + 1 < bytes.count, bytes[index + 1] == 0x30 || bytes[index + 1] == 0x31 else { return nil }
        text.append(bytes[index + 1] == 0x30 ? UInt8(ascii: "~") : UInt8(ascii: "/"))
        index += 2
      } else {
        text.append(bytes[index])
        index += 1
      }
    }
    return String(validating: text, as: UTF8.self)
  }
}
