internal import DibitFailure

/// A value while rendering. Only namespaces, loops and iterators change; everything else is a value, as the sandbox wants it.
enum Value {
  /// A value that is not there, and what an error calls it.
  case undefined(String, isUnsafe: Bool)
  case none
  case bool(Bool)
  case integer(Int)
  case float(Double)
  case string(String)
  /// A text that `safe` marked.
  case markup(String)
  case list(Elements)
  case tuple(Elements)
  case dictionary(Dictionary)
  case view(View, Dictionary)
  case range(NumberRange)
  case iterator(Iterator)
  case namespace(Namespace)
  case loop(LoopState)
  case macro(MacroValue)
  case function(String)
  case method(Method)

  /// The elements of a list; ``depth`` bounds how deep printing, comparing and freeing it recurse.
  struct Elements {
    let values: [Value]
    let depth: Int
  }

  /// The views that `keys`, `values` and `items` of a dictionary give.
  enum View {
    case keys
    case values
    case items
  }

  /// The numbers of `range`.
  struct NumberRange: Equatable {
    let start: Int
    let step: Int
    let count: Int

    subscript(index: Int) -> Int { start + index * step }
  }

  /// A dictionary in the order of its keys.
  struct Dictionary {
    private(set) var keys: [Value] = []
    private(set) var values: [Value] = []
    private(set) var depth = 1
    private var index: [Key: Int] = [:]

    subscript(key: Key) -> Value? { index[key].map { values[$0] } }

    mutating func set(_ key: Key, _ value: Value) {
      depth = max(depth, value.depth + 1, key.value.depth + 1)
      if let found = index[key] {
        values[found] = value
      } else {
        index[key] = keys.count
        keys.append(key.value)
        values.append(value)
      }
    }

    var count: Int { keys.count }
  }

  /// A sequence that is taken one by one, and only once.
  final class Iterator {
    let values: [Value]
    var next = 0
    let depth: Int

    init(_ values: [Value], depth: Int) {
      self.values = values
      self.depth = depth
    }

    func take() -> Value? {
      guard next < values.count else { return nil }
      next += 1
      return values[next - 1]
    }

    func takeAll() -> [Value] {
      defer { next = values.count }
      return Array(values[next...])
    }
  }

  /// A namespace, whose members can be set.
  final class Namespace {
    var members: Dictionary
    init(_ members: Dictionary) { self.members = members }
  }

  /// A method of a value.
  final class Method {
    let receiver: Value
    let name: String

    init(receiver: Value, name: String) {
      self.receiver = receiver
      self.name = name
    }
  }

  /// A macro and the scope that it was defined in.
  final class MacroValue {
    let macro: Macro
    let frame: Frame

    init(macro: Macro, frame: Frame) {
      self.macro = macro
      self.frame = frame
    }
  }

  static func name(_ name: String) -> Value { .undefined(quoted(name), isUnsafe: false) }

  /// The greatest number of values inside each other.
  var depth: Int {
    switch self {
    case .list(let elements), .tuple(let elements): elements.depth
    case .dictionary(let dictionary), .view(_, let dictionary): dictionary.depth
    case .iterator(let iterator): iterator.depth
    case .method(let method): method.receiver.depth + 1
    // These may hold themselves and are kept out of namespaces, so that nothing is ever held in a circle.
    case .namespace, .loop: 2
    default: 1
    }
  }

  var isUndefined: Bool { if case .undefined = self { true } else { false } }
  var isNone: Bool { if case .none = self { true } else { false } }

  var text: String? {
    switch self {
    case .string(let text), .markup(let text): text
    default: nil
    }
  }

  /// Booleans are numbers too.
  var wholeNumber: Int? {
    switch self {
    case .integer(let value): value
    case .bool(let value): value ? 1 : 0
    default: nil
    }
  }

  var number: Double? {
    if case .float(let value) = self { return value }
    return wholeNumber.map(Double.init)
  }

  /// The name that errors give to values of this kind.
  var kind: String {
    switch self {
    case .undefined: "an undefined value"
    case .none: "none"
    case .bool: "a boolean"
    case .integer: "an integer"
    case .float: "a float"
    case .string, .markup: "a string"
    case .list: "a list"
    case .tuple: "a tuple"
    case .dictionary: "a mapping"
    case .view: "a view of a mapping"
    case .range: "a range"
    case .iterator: "an iterator"
    case .namespace: "a namespace"
    case .loop: "a loop"
    case .macro: "a macro"
    case .function: "a function"
    case .method: "a method"
    }
  }

  var isTrue: Bool {
    switch self {
    case .undefined, .none: false
    case .bool(let value): value
    case .integer(let value): value != 0
    case .float(let value): value != 0
    case .string(let text), .markup(let text): !text.isEmpty
    case .list(let elements), .tuple(let elements): !elements.values.isEmpty
    case .dictionary(let dictionary), .view(_, let dictionary): dictionary.count > 0
    case .range(let range): range.count > 0
    case .iterator, .namespace, .loop, .macro, .function, .method: true
    }
  }
}

/// A value as the key of a dictionary: `1`, `1.0` and `true` are the same key, texts are compared by their scalars.
struct Key: Hashable {
  let value: Value

  /// Nil for lists and mappings, which cannot be keys.
  init?(_ value: Value) {
    switch value {
    case .none, .bool, .integer, .float, .string, .markup, .undefined, .range: break
    case .tuple(let elements): guard elements.values.allSatisfy({ Key($0) != nil }) else { return nil }
    default: return nil
    }
    self.value = value
  }

  init(_ text: String) { value = .string(text) }

  static func == (left: Key, right: Key) -> Bool { areEqual(left.value, right.value) }

  func hash(into hasher: inout Hasher) { Self.hash(value, into: &hasher) }

  private static func hash(_ value: Value, into hasher: inout Hasher) {
    switch value {
    case .string(let text), .markup(let text): for byte in text.utf8 { hasher.combine(byte) }
    case .bool, .integer, .float: hasher.combine(value.number ?? 0)
    case .tuple(let elements): for element in elements.values { hash(element, into: &hasher) }
    default: break
    }
  }
}

func isSameText(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

/// `==` of Python.
func areEqual(_ left: Value, _ right: Value) -> Bool {
  if let left = left.wholeNumber, let right = right.wholeNumber { return left == right }
  if let left = left.number, let right = right.number { return left == right }
  if let left = left.text, let right = right.text { return isSameText(left, right) }
  switch (left, right) {
  case (.none, .none), (.undefined, .undefined): return true
  case (.list(let left), .list(let right)), (.tuple(let left), .tuple(let right)):
    return left.values.count == right.values.count && zip(left.values, right.values).allSatisfy(areEqual)
  case (.dictionary(let left), .dictionary(let right)):
    return left.count == right.count
      && zip(left.keys, left.values).allSatisfy { key, value in
        Key(key).flatMap { right[$0] }.map { areEqual(value, $0) } ?? false
      }
  case (.range(let left), .range(let right)):
    return left.count == right.count && (left.count == 0 || left.start == right.start && (left.count == 1 || left.step == right.step))
  case (.view(.keys, let left), .view(.keys, let right)):
    return left.count == right.count && left.keys.allSatisfy { key in Key(key).map { right[$0] != nil } ?? false }
  case (.view(.items, let left), .view(.items, let right)): return areEqual(.dictionary(left), .dictionary(right))
  case (.namespace(let left), .namespace(let right)): return left === right
  case (.macro(let left), .macro(let right)): return left === right
  case (.loop(let left), .loop(let right)): return left === right
  case (.iterator(let left), .iterator(let right)): return left === right
  case (.function(let left), .function(let right)): return left == right
  default: return false
  }
}

/// The names of a scope while it is rendered.
final class Frame {
  let scope: Scope
  let parent: Frame?
  var values: [String: Value] = [:]

  init(_ scope: Scope, parent: Frame?) {
    self.scope = scope
    self.parent = parent
  }

  /// The value of a name in the innermost scope that has it, or nil when it is not set.
  func value(of name: String) -> Value? {
    var frame: Frame? = self
    while let current = frame {
      if current.scope.names[name] != nil { return current.values[name] }
      frame = current.parent
    }
    return nil
  }
}

/// A loop while it runs: what `loop` stands for.
final class LoopState {
  let source: Value.Iterator
  /// The length, when it is known without looking at the elements.
  var length: Int?
  var index = -1
  var current: Value?
  var previous: Value?
  /// Elements that were looked at before their turn.
  var ahead: [Value] = []
  /// The arguments with which `changed` was called last.
  var changed: [Value]?
  /// Takes the next element that passes the loop's test.
  let loop: Loop
  let frame: Frame

  init(_ source: Value.Iterator, length: Int?, loop: Loop, frame: Frame) {
    self.source = source
    self.length = length
    self.loop = loop
    self.frame = frame
  }
}
