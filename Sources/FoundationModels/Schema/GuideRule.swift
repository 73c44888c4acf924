internal import DibitJSON
internal import Foundation

/// One demand of a guide, without the type it was made for.
indirect enum GuideRule: Sendable, Equatable {
  case constant(String)
  case anyOf([String])
  case pattern(Pattern)
  case minimum(Limit)
  case maximum(Limit)
  case minimumCount(Int)
  case maximumCount(Int)
  case element(GuideRule)

  /// The text of a regular expression; nil when it has none, as one with code in it.
  struct Pattern: Sendable, Equatable {
    let text: String?

    init(_ text: String?) { self.text = text }

    init<Output>(_ regex: Regex<Output>) { text = regex._literalPattern }
  }

  /// A limit of numbers; nil when JSON cannot express it.
  struct Limit: Sendable, Equatable {
    let value: JSONValue?
    /// The limit as somebody would write it.
    let text: String

    init(_ value: Int) { (self.value, text) = (.integer(value), "\(value)") }

    init(_ value: Double) {
      // JSON does not tell 1.0 from 1.
      self.value = value.isFinite ? Int(exactly: value).map(JSONValue.integer) ?? .number(value) : nil
      text = "\(value)"
    }

    /// A float's own digits are fewer than those of the double that equals it.
    init(_ value: Float) { self.init(Double("\(value)") ?? Double(value)) }

    init(_ value: Decimal) {
      text = value.isNaN ? "NaN" : "\(value)"
      if let integer = Int(text) {
        self.value = .integer(integer)
      } else if let double = Double(text), double.isFinite, Decimal(string: "\(double)") == value {
        self.value = .number(double)
      } else {
        self.value = nil
      }
    }
  }

  /// The guide as somebody would write it, for messages.
  var description: String {
    switch self {
    case .constant(let text): ".constant(\(text.debugDescription))"
    case .anyOf(let texts): ".anyOf(\(texts))"
    case .pattern(let pattern): pattern.text.map { ".pattern(/\($0)/)" } ?? ".pattern(…)"
    case .minimum(let limit): ".minimum(\(limit.text))"
    case .maximum(let limit): ".maximum(\(limit.text))"
    case .minimumCount(let count): ".minimumCount(\(count))"
    case .maximumCount(let count): ".maximumCount(\(count))"
    case .element(let rule): ".element(\(rule.description))"
    }
  }
}
