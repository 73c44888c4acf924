/// Numbers as the JSON parser of Hugging Face's library reads them.
///
/// That parser turns the digits into a whole number and divides by a power of ten, which is off by one unit in the last place for one
/// number in five. Scores must be read alike, or texts whose best two cuts are nearly equal would be cut otherwise.
enum SerdeNumber {
  /// Returns the number that the library reads from the shortest text of a number.
  static func reading(_ value: Double) -> Double {
    guard value.isFinite, value != value.rounded() || value.magnitude >= 0x1p53 else { return value }
    var digits: UInt64 = 0
    var exponent = 0
    var isFraction = false
    var scale = 0
    var scaleSign = 0
    for byte in "\(value.magnitude)".utf8 {
      switch byte {
      case UInt8(ascii: "."): isFraction = true
      case UInt8(ascii: "e"): scaleSign = 1
      case UInt8(ascii: "-"): scaleSign = -1
      case UInt8(ascii: "+"): break
      case let digit where scaleSign != 0: scale = scale * 10 + Int(digit - 0x30)
      case let digit:
        let (scaled, overflow) = digits.multipliedReportingOverflow(by: 10)
        if overflow { return value }
        digits = scaled + UInt64(digit - 0x30)
        if isFraction { exponent -= 1 }
      }
    }
    exponent += scale * scaleSign
    var result = Double(digits)
    while exponent < -308 {
      result /= 1e308
      exponent += 308
    }
    guard let power = Double("1e\(abs(exponent))") else { return value }
    result = exponent < 0 ? result / power : result * power
    return value < 0 ? -result : result
  }
}
