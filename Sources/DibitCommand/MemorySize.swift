internal import ArgumentParser

/// A number of bytes as people write it: `800M`, `2G`, `1.5g`, or plain digits.
struct MemorySize {
  let bytes: Int

  init(option: String, _ text: String) throws {
    let units: [Character: Double] = ["k": 1e3, "m": 1e6, "g": 1e9]
    var (digits, factor) = (Substring(text), 1.0)
    if let last = text.last, let unit = units[Character(last.lowercased())] { (digits, factor) = (text.dropLast(), unit) }
    guard let number = Double(digits), number > 0, number * factor >= 1, number * factor < 0x1p60 else {
      throw ValidationError("\(option): expected a size like 800M or 2G, found '\(text)'")
    }
    bytes = Int(number * factor)
  }
}
