/// A schema as rules over leaf automata: what ``SchemaCompiler`` makes and what a state walks through.
struct Grammar: Sendable {
  var automaton: ByteAutomaton
  let leaves: SharedLeaves
  /// The alternatives of each value.
  var rules: [[ValueNode]] = []
  var objects: [ObjectShape] = []
  var arrays: [ArrayShape] = []
  /// The most objects and arrays that are open at a time.
  let maximumDepth: Int

  /// The leaves that every schema shares, made once.
  private static let beginning: (ByteAutomaton, SharedLeaves) = {
    var automaton = ByteAutomaton()
    let leaves = SharedLeaves(in: &automaton)
    return (automaton, leaves)
  }()

  init(maximumDepth: Int) {
    (automaton, leaves) = Self.beginning
    self.maximumDepth = maximumDepth
  }
}

/// One way to spell a value.
enum ValueNode: Hashable, Sendable {
  /// Any text that an automaton accepts from this state.
  case leaf(Int32)
  /// Any string with a number of scalars in this range.
  case text(atLeast: Int32, atMost: Int32)
  case object(Int32)
  case array(Int32)
}

/// The members that an object may have, in their order.
struct ObjectShape: Sendable {
  struct Property: Sendable {
    /// The key with its colon; with a comma before it.
    var key: Int32
    var nextKey: Int32
    var rule: Int32
    var isRequired: Bool
  }

  var properties: [Property]
  /// For each index, how many required properties stand there or behind it.
  let requiredFrom: [Int32]
  /// The rule of undeclared members, or -1: they follow the declared ones.
  var additional: Int32
  /// The spellings of declared keys, which no undeclared key may repeat.
  let names: [[UInt8]]
  var minimum: Int32
  /// `Int32.max`: no limit.
  var maximum: Int32

  init(properties: [Property], names: [[UInt8]], additional: Int32, minimum: Int32, maximum: Int32) {
    (self.properties, self.names, self.additional) = (properties, names, additional)
    (self.minimum, self.maximum) = (minimum, maximum)
    var (counts, count): ([Int32], Int32) = ([0], 0)
    for property in properties.reversed() {
      count += property.isRequired ? 1 : 0
      counts.append(count)
    }
    requiredFrom = counts.reversed()
  }

  /// The number of members so far, as far as it still matters.
  func counted(_ count: Int32) -> Int32 { maximum == .max ? min(count, max(minimum, 1)) : count }
}

/// The elements that an array may have.
struct ArrayShape: Sendable {
  var prefix: [Int32]
  /// The rule of the elements behind the prefix, or -1 when there are none.
  var item: Int32
  var minimum: Int32
  /// `Int32.max`: no limit.
  var maximum: Int32
  /// The leaves of listed values of which each may come once; empty in other arrays.
  var once: [Int32] = []

  /// The rule of an element, or nil when there is none.
  func rule(at index: Int32) -> Int32? {
    if index >= maximum { return nil }
    if Int(index) < prefix.count { return prefix[Int(index)] }
    return item < 0 ? nil : item
  }

  /// The number of elements so far, as far as it still matters.
  func counted(_ index: Int32) -> Int32 { maximum == .max ? min(index, max(minimum, Int32(prefix.count), 1)) : index }
}
