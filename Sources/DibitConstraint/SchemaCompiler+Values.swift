internal import DibitJSON

extension SchemaCompiler {
  /// The ways to spell a value with these keywords.
  mutating func nodes(for keywords: SchemaKeywords) throws(ConstraintError) -> [ValueNode] {
    if let values = keywords.values { return try listed(values, keywords).map { [$0] } ?? [] }
    // Without `type`, the keywords say which kinds of values are meant; without any, all are.
    var types = keywords.types
    if types == .all, !keywords.implied.isEmpty { types = keywords.implied }
    var nodes: [ValueNode] = []
    if types.contains(.object), let node = try object(keywords) { nodes.append(node) }
    if types.contains(.array), let node = try array(keywords) { nodes.append(node) }
    if types.contains(.string), let node = try string(keywords) { nodes.append(node) }
    if !types.isDisjoint(with: .number), let node = try number(keywords, types.contains(.fraction)) { nodes.append(node) }
    if types.contains(.boolean) { nodes.append(.leaf(grammar.leaves.boolean)) }
    if types.contains(.null) { nodes.append(.leaf(grammar.leaves.null)) }
    return nodes
  }

  // MARK: Listed values

  private mutating func listed(_ values: [JSONValue], _ keywords: SchemaKeywords) throws(ConstraintError) -> ValueNode? {
    var texts: [[UInt8]] = []
    var seen = Set<[UInt8]>()
    for value in values {
      guard try isListed(value, keywords) else { continue }
      let text = Array(value.serialized().utf8)
      if seen.insert(text).inserted { texts.append(text) }
    }
    guard texts.reduce(0, { $0 + $1.count }) <= Self.stateLimit else {
      throw .tooLarge(what: "bytes in 'enum'", limit: Self.stateLimit, pointer: keywords.pointer)
    }
    return texts.isEmpty ? nil : .leaf(grammar.automaton.append(.trie(texts), isTree: true))
  }

  private mutating func isListed(_ value: JSONValue, _ keywords: SchemaKeywords) throws(ConstraintError) -> Bool {
    guard !keywords.types.isDisjoint(with: TypeSet.of(value)) else { return false }
    return try admits(value, keywords)
  }

  /// Checks whether the keywords beside `enum` leave the value.
  private mutating func admits(_ value: JSONValue, _ keywords: SchemaKeywords) throws(ConstraintError) -> Bool {
    switch value {
    case .null, .bool: return true
    case .string(let text):
      let length = text.unicodeScalars.count
      guard length >= keywords.minimumLength, length <= keywords.maximumLength ?? .max else { return false }
      if keywords.patterns.isEmpty { return true }
      guard case .leaf(let start) = try string(keywords) else { return false }
      return grammar.automaton.accepts(value.serialized().utf8, from: start)
    case .integer, .number:
      guard let number = value.double else { return false }
      for limit in keywords.lower where limit.isExclusive ? number <= limit.value.double : number < limit.value.double { return false }
      for limit in keywords.upper where limit.isExclusive ? number >= limit.value.double : number > limit.value.double { return false }
      return keywords.multiples.allSatisfy { step in
        let quotient = number / step.double
        return abs(quotient - quotient.rounded()) <= 1e-9 * max(1, abs(quotient))
      }
    case .array, .object:
      let kind: TypeSet = value.array == nil ? .object : .array
      guard keywords.implied.isDisjoint(with: kind) else {
        throw .unsupportedValue(keyword: "enum", pointer: keywords.pointer, reason: "\(value.kind) cannot stand beside other keywords")
      }
      return true
    }
  }

  // MARK: Strings

  private mutating func string(_ keywords: SchemaKeywords) throws(ConstraintError) -> ValueNode? {
    let (minimum, maximum) = (keywords.minimumLength, keywords.maximumLength)
    if let maximum, minimum > maximum { return nil }
    if keywords.patterns.isEmpty { return .text(atLeast: Int32(minimum), atMost: maximum.map(Int32.init) ?? .max) }
    let key = StringKey(patterns: keywords.patterns, minimum: minimum, maximum: maximum)
    if let start = strings[key] { return start < 0 ? nil : .leaf(start) }
    var machines: [PatternMachine] = []
    for pattern in keywords.patterns {
      do throws(PatternParser.Fault) {
        machines.append(try PatternMachine(try PatternParser.parse(pattern.source)))
      } catch {
        throw .unsupportedPattern(pattern.source, pointer: pattern.pointer, reason: error.reason)
      }
    }
    var builder = PatternAutomaton(machines, minimum: minimum, maximum: maximum)
    switch builder.build() {
    case .draft(let draft):
      let start = grammar.automaton.append(draft)
      strings[key] = start
      return .leaf(start)
    case .empty:
      strings[key] = -1
      return nil
    case .tooManyStates(let limit):
      throw .unsupportedPattern(
        keywords.patterns[0].source, pointer: keywords.patterns[0].pointer, reason: "it needs more than \(limit) states")
    }
  }

  // MARK: Numbers

  private mutating func number(_ keywords: SchemaKeywords, _ allowsFractions: Bool) throws(ConstraintError) -> ValueNode? {
    let wholes = keywords.multiples.compactMap(\.integer)
    var range = allowsFractions && wholes.isEmpty ? NumberRange.numbers : .integers
    if range.fractionDigits > 0, let places = keywords.multiples.compactMap(\.places).min() { range = range.limited(places: places) }
    if range == .integers, wholes.isEmpty, keywords.lower.isEmpty, keywords.upper.isEmpty { return .leaf(grammar.leaves.integer) }
    if range == .numbers, keywords.lower.isEmpty, keywords.upper.isEmpty { return .leaf(grammar.leaves.number) }
    for whole in wholes {
      let (product, overflow) = (range.multiple / Self.divisor(range.multiple, whole)).multipliedReportingOverflow(by: whole)
      guard !overflow, product <= Self.multipleLimit else {
        throw .tooLarge(what: "as 'multipleOf'", limit: Self.multipleLimit, pointer: keywords.pointer)
      }
      range.multiple = product
    }
    let limit = range.upper
    for bound in keywords.lower {
      let least = bound.value.scaled(places: range.fractionDigits, limit: limit, roundingUp: true)
      let isExact = least == bound.value.scaled(places: range.fractionDigits, limit: limit, roundingUp: false)
      range.lower = max(range.lower, bound.isExclusive && isExact ? least + 1 : least)
    }
    for bound in keywords.upper {
      let greatest = bound.value.scaled(places: range.fractionDigits, limit: limit, roundingUp: false)
      let isExact = greatest == bound.value.scaled(places: range.fractionDigits, limit: limit, roundingUp: true)
      range.upper = min(range.upper, bound.isExclusive && isExact ? greatest - 1 : greatest)
    }
    guard range.lower <= range.upper else { return nil }
    if let start = numbers[range] { return start < 0 ? nil : .leaf(start) }
    var builder = NumberAutomaton(range)
    let draft = builder.build(stateLimit: Self.numberLimit)
    guard !builder.isTooLarge else {
      throw .tooLarge(what: "states for a number", limit: Self.numberLimit, pointer: keywords.pointer)
    }
    let start = draft.map { grammar.automaton.append($0) } ?? -1
    numbers[range] = start
    return start < 0 ? nil : .leaf(start)
  }

  private static let multipleLimit = 10_000
  private static let numberLimit = 50_000

  private static func divisor(_ one: Int, _ other: Int) -> Int {
    var (one, other) = (one, other)
    while other != 0 { (one, other) = (other, one % other) }
    return one
  }

  // MARK: Objects and arrays

  private mutating func object(_ keywords: SchemaKeywords) throws(ConstraintError) -> ValueNode? {
    // Declared properties close an object: what a schema lists is what is generated.
    var open = keywords.additional ?? (keywords.properties.isEmpty ? [.anything] : nil)
    if open?.contains(where: { $0.value == .bool(false) }) == true { open = nil }
    var known = Set(keywords.properties.map { Array($0.name.utf8) })
    var properties = keywords.properties
    for name in keywords.required where known.insert(Array(name.utf8)).inserted {
      if keywords.additional != nil, open == nil {
        exclusion = "'required' names \(quoted(name)), which 'properties' lacks and 'additionalProperties' forbids"
        return nil
      }
      properties.append(SchemaKeywords.Property(name: name, schemas: keywords.additional ?? [.anything]))
    }
    if !keywords.order.isEmpty {
      var ranks: [[UInt8]: Int] = [:]
      for (rank, name) in keywords.order.enumerated() { ranks[Array(name.utf8)] = rank }
      let ranked = properties.enumerated().sorted { left, right in
        let (a, b) = (ranks[Array(left.element.name.utf8)] ?? .max, ranks[Array(right.element.name.utf8)] ?? .max)
        return a != b ? a < b : left.offset < right.offset
      }
      properties = ranked.map(\.element)
    }
    let required = Set(keywords.required.map { Array($0.utf8) })
    let maximum = keywords.maximumProperties ?? (open == nil ? properties.count : nil)
    let minimum = max(keywords.minimumProperties, required.count)
    if let maximum, minimum > maximum { return nil }
    guard (properties.count + 1) * (keywords.minimumProperties + 1) <= Self.memberLimit else {
      throw .tooLarge(what: "as 'minProperties' times the properties", limit: Self.memberLimit, pointer: keywords.pointer)
    }
    var members: [ObjectShape.Property] = []
    var names: [[UInt8]] = []
    for property in properties {
      let spelling = JSONValue.string(property.name).serialized()
      let nextKey = literal("," + spelling + ":")
      members.append(
        ObjectShape.Property(
          key: nextKey + 1, nextKey: nextKey, rule: try rule(for: property.schemas),
          isRequired: required.contains(Array(property.name.utf8))))
      names.append(Array(spelling.utf8.dropFirst().dropLast()))
    }
    let shape = ObjectShape(
      properties: members, names: names, additional: try open.map { schemas throws(ConstraintError) in try rule(for: schemas) } ?? -1,
      minimum: Int32(keywords.minimumProperties),
      maximum: maximum == properties.count && open == nil ? .max : maximum.map(Int32.init) ?? .max)
    grammar.objects.append(shape)
    return .object(Int32(grammar.objects.count - 1))
  }

  private static let memberLimit = 100_000

  private mutating func array(_ keywords: SchemaKeywords) throws(ConstraintError) -> ValueNode? {
    var open = keywords.items ?? (keywords.prefix.isEmpty ? [.anything] : nil)
    if open?.contains(where: { $0.value == .bool(false) }) == true { open = nil }
    let maximum = min(keywords.maximumItems ?? .max, open == nil ? keywords.prefix.count : .max)
    guard keywords.minimumItems <= maximum else { return nil }
    if keywords.isUnique, maximum > 1 { return try uniqueArray(keywords, open, maximum) }
    var prefix: [Int32] = []
    for schemas in keywords.prefix { prefix.append(try rule(for: schemas)) }
    grammar.arrays.append(
      ArrayShape(
        prefix: prefix, item: try open.map { schemas throws(ConstraintError) in try rule(for: schemas) } ?? -1,
        minimum: Int32(keywords.minimumItems), maximum: maximum == .max ? .max : Int32(maximum)))
    return .array(Int32(grammar.arrays.count - 1))
  }

  /// An array of listed values, each at most once.
  private mutating func uniqueArray(_ keywords: SchemaKeywords, _ open: [Located]?, _ maximum: Int) throws(ConstraintError) -> ValueNode? {
    let unsupported = ConstraintError.unsupportedValue(
      keyword: "uniqueItems", pointer: keywords.pointer,
      reason: "'items' with an enum of at most \(Self.uniqueLimit) values expected beside it")
    guard let open, keywords.prefix.isEmpty else { throw unsupported }
    var values: [JSONValue] = []
    for alternative in try alternatives(of: open) {
      guard let listed = alternative.values, listed.count <= Self.uniqueLimit else { throw unsupported }
      for value in listed where try isListed(value, alternative) && !values.contains(where: { $0.isSame(as: value) }) {
        values.append(value)
      }
    }
    guard values.count <= Self.uniqueLimit else { throw unsupported }
    guard keywords.minimumItems <= values.count else { return nil }
    let leaves = values.map { literal($0.serialized()) }
    grammar.arrays.append(
      ArrayShape(
        prefix: [], item: -1, minimum: Int32(keywords.minimumItems), maximum: Int32(min(maximum, values.count)), once: leaves))
    return .array(Int32(grammar.arrays.count - 1))
  }

  /// As many as there are bits for them.
  private static let uniqueLimit = 64

  private mutating func literal(_ text: String) -> Int32 {
    if let start = literals[text] { return start }
    let start = grammar.automaton.append(.trie([Array(text.utf8)]), isTree: true)
    literals[text] = start
    return start
  }
}
