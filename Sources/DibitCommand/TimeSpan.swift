internal import ArgumentParser

/// A time as people write it: `90s`, `10m`, `1.5h`.
struct TimeSpan {
  let duration: Duration

  init(option: String, _ text: String) throws {
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600]
    guard let unit = text.last.flatMap({ units[$0] }), let number = Double(text.dropLast()), number > 0, number * unit < 1e9 else {
      throw ValidationError("\(option): expected a time like 90s, 10m or 1h, found '\(text)'")
    }
    duration = .seconds(number * unit)
  }
}
