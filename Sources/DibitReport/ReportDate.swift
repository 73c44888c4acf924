/// A time in UTC, from the name of a report in a folder of runs: `20261121T174503Z-0a1b2c3d.json`.
package struct ReportDate: Equatable, Comparable, Sendable, CustomStringConvertible {
  /// Year, month, day, hour, minute and second as 14 digits.
  private let digits: [UInt8]

  /// The time in a file's name; nil where it has another form.
  package init?(fileName: String) {
    let name = Array(
      fileName.utf8.suffix(from: fileName.utf8.lastIndex(of: UInt8(ascii: "/")) ?? fileName.startIndex).drop { $0 == UInt8(ascii: "/") })
    guard name.count == 16 + 1 + 8 + 5, name[8] == UInt8(ascii: "T"), name[15] == UInt8(ascii: "Z"), name[16] == UInt8(ascii: "-"),
      name[25...].elementsEqual(".json".utf8), name[17..<25].allSatisfy({ 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 })
    else { return nil }
    let digits = Array(name[0..<8] + name[9..<15])
    guard digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
    self.digits = digits
    let (month, day) = (number(4, 2), number(6, 2))
    guard 1...12 ~= month, 1...31 ~= day, number(8, 2) < 24, number(10, 2) < 60, number(12, 2) < 61 else { return nil }
  }

  /// The name of the file of a report that was made so many seconds after 1970 began and has this SHA-256.
  ///
  /// Days to dates: an era of 400 years has 146,097 days, and years that begin in March have their leap day at the end.
  package static func fileName(seconds: Double, digest: String) -> String {
    let whole = Int(seconds.rounded(.down))
    let (day, second) = (whole / 86_400, whole % 86_400)
    let shifted = day + 719_468
    let (era, dayOfEra) = (shifted / 146_097, shifted % 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let march = (5 * dayOfYear + 2) / 153
    let (month, date) = (march < 10 ? march + 3 : march - 9, dayOfYear - (153 * march + 2) / 5 + 1)
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let time = two(second / 3600) + two(second / 60 % 60) + two(second % 60)
    return "\(year)\(two(month))\(two(date))T\(time)Z-\(digest.prefix(8)).json"
  }

  /// "2026-11-21 17:45:03 UTC".
  package var description: String { "\(text(0, 4))-\(text(4, 2))-\(text(6, 2)) \(text(8, 2)):\(text(10, 2)):\(text(12, 2)) UTC" }

  /// "2026-11-21T17:45:03Z", the form of ISO 8601.
  package var iso: String { "\(text(0, 4))-\(text(4, 2))-\(text(6, 2))T\(text(8, 2)):\(text(10, 2)):\(text(12, 2))Z" }

  /// Returns whether the left time comes first.
  package static func < (left: ReportDate, right: ReportDate) -> Bool { left.digits.lexicographicallyPrecedes(right.digits) }

  private func text(_ start: Int, _ count: Int) -> String { String(decoding: digits[start..<start + count], as: UTF8.self) }
  private func number(_ start: Int, _ count: Int) -> Int { digits[start..<start + count].reduce(0) { 10 * $0 + Int($1) - 0x30 } }
}
