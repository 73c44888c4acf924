internal import Foundation

extension GeneratedContent {
  /// The number that a JSON text is; nil when no double comes near it.
  init?(number text: String) {
    guard let value = Double(text), value.isFinite else { return nil }
    self.init(kind: .number(value), id: nil, isComplete: true, literal: Self.isExact(text, value) ? nil : text)
  }

  /// A whole number, with all its digits.
  init(integer: Int) {
    let value = Double(integer)
    self.init(kind: .number(value), id: nil, isComplete: true, literal: Int(exactly: value) == integer ? nil : String(integer))
  }

  /// A decimal, with all its digits.
  init(decimal: Decimal) {
    let text = decimal.isNaN ? "nan" : "\(decimal)"
    let value = Double(text) ?? .nan
    let isExact = decimal.isNaN || Decimal(string: "\(value)") == decimal
    self.init(kind: .number(value), id: nil, isComplete: true, literal: isExact ? nil : text)
  }

  /// The number as a whole one; nil when it is not one, or too large.
  var integer: Int? {
    guard case .number(let value) = kind else { return nil }
    guard let literal else { return Int(exactly: value) }
    if let integer = Int(literal) { return integer }
    return Decimal(string: literal).flatMap { Int("\($0)") }
  }

  /// The number as a decimal; nil when it is beyond what a decimal holds.
  var decimal: Decimal? {
    guard case .number(let value) = kind else { return nil }
    if value.isNaN { return .nan }
    guard value.isFinite, let decimal = Decimal(string: literal ?? "\(value)"), !decimal.isNaN else { return nil }
    return decimal
  }

  /// True if the digits of the text can be had from the double again: doubles tell decimals of 15 digits apart.
  private static func isExact(_ text: String, _ value: Double) -> Bool {
    if let integer = Int(text) { return Int(exactly: value) == integer }
    let mantissa = text.utf8.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
    var digits = mantissa.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.drop { $0 == UInt8(ascii: "0") }
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    return digits.count <= 15 && (digits.isEmpty || abs(value) >= 0x1p-1000)
  }
}
