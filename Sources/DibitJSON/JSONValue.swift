/// A JSON document as plain values.
///
/// Use this for files whose keys must be told apart byte by byte (vocabularies, tensor names) or whose key order matters.
/// `String ==` compares canonically equivalent text as equal, so a vocabulary holding both spellings of "é" would lose one
/// of them in a `Dictionary`; ``JSONObject`` compares UTF-8 instead.
package enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  /// A number without fraction or exponent that fits 64 bits.
  case integer(Int)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)
}

extension JSONValue {
  /// The truth value, or nil when this is not a boolean.
  package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// The integer, or nil when this is not one; `2.0` counts as `2`.
  package var int: Int? {
    switch self {
    case .integer(let value): value
    case .number(let value): Int(exactly: value)
    default: nil
    }
  }

  /// The number, or nil when this is not one.
  package var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }

  /// The text, or nil when this is not a string.
  package var string: String? { if case .string(let value) = self { value } else { nil } }

  /// The elements, or nil when this is not an array.
  package var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

  /// The members, or nil when this is not an object.
  package var object: JSONObject? { if case .object(let value) = self { value } else { nil } }

  /// True for `null`.
  package var isNull: Bool { self == .null }

  /// The member called `key`, or nil when there is none or this is not an object.
  package subscript(key: String) -> JSONValue? { object?[key] }

  /// The kind of this value, for error messages: "a string", "an array", …
  package var kind: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .integer, .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// A string.
  package init(stringLiteral value: String) { self = .string(value) }
  /// A whole number.
  package init(integerLiteral value: Int) { self = .integer(value) }
  /// A number.
  package init(floatLiteral value: Double) { self = .number(value) }
  /// A truth value.
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  /// An array.
  package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// An object with its members in this order; keys must differ.
  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(JSONObject(elements.map { (key: $0.0, value: $0.1) }))
  }
}
