internal import DibitJSON

/// A schema and its location.
struct Located: Sendable {
  let value: JSONValue
  let pointer: String

  /// The schema that allows everything.
  static let anything = Located(value: .bool(true), pointer: "#true")

  func member(_ key: String, _ value: JSONValue) -> Located {
    Located(value: value, pointer: pointer + "/" + Self.escaped(key))
  }

  func element(_ key: String, _ index: Int, _ value: JSONValue) -> Located {
    Located(value: value, pointer: pointer + "/\(key)/\(index)")
  }

  private static func escaped(_ key: String) -> String {
    var result = ""
    for scalar in key.unicodeScalars {
      switch scalar {
      case "~": result += "~0"
      case "/": result += "~1"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

/// The kinds of values. A number is whole or not: `number` is both.
struct TypeSet: OptionSet, Hashable, Sendable {
  let rawValue: UInt8
  static let null = TypeSet(rawValue: 1)
  static let boolean = TypeSet(rawValue: 2)
  static let integer = TypeSet(rawValue: 4)
  static let fraction = TypeSet(rawValue: 8)
  static let string = TypeSet(rawValue: 16)
  static let object = TypeSet(rawValue: 32)
  static let array = TypeSet(rawValue: 64)
  static let number: TypeSet = [.integer, .fraction]
  static let all = TypeSet(rawValue: 127)

  /// The names that ``named(_:)`` knows.
  static let names = ["null", "boolean", "integer", "number", "string", "object", "array"]

  static func named(_ name: String) -> TypeSet? {
    switch name {
    case "null": .null
    case "boolean": .boolean
    case "integer": .integer
    case "number": .number
    case "string": .string
    case "object": .object
    case "array": .array
    default: nil
    }
  }

  static func of(_ value: JSONValue) -> TypeSet {
    switch value {
    case .null: .null
    case .bool: .boolean
    case .integer: .integer
    case .number(let number): number.rounded() == number ? .integer : .fraction
    case .string: .string
    case .array: .array
    case .object: .object
    }
  }
}

/// The demands of one or several schemas together on a value, without references and alternatives.
struct SchemaKeywords: Sendable {
  struct Property: Sendable {
    var name: String
    /// The value must satisfy all of these.
    var schemas: [Located]
  }

  struct Pattern: Sendable, Hashable {
    var source: String
    var pointer: String
  }

  /// The location of the first schema.
  var pointer: String
  var types = TypeSet.all
  /// Kinds of values that keywords speak of, for schemas without `type`.
  var implied: TypeSet = []
  /// The values that `enum` and `const` leave.
  var values: [JSONValue]?

  var properties: [Property] = []
  var required: [String] = []
  var order: [String] = []
  var additional: [Located]?
  var minimumProperties = 0
  var maximumProperties: Int?

  var prefix: [[Located]] = []
  var items: [Located]?
  var minimumItems = 0
  var maximumItems: Int?
  var isUnique = false

  var patterns: [Pattern] = []
  var minimumLength = 0
  var maximumLength: Int?

  var lower: [Limit] = []
  var upper: [Limit] = []
  var multiples: [Decimal] = []

  struct Limit: Sendable, Hashable {
    var value: Decimal
    var isExclusive: Bool
  }

  init(pointer: String) { self.pointer = pointer }
}
