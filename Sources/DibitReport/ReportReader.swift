internal import DibitJSON

/// A value of a saved report, with the way to it for errors. Every number that is taken is checked for its range.
struct ReportReader {
  let value: JSONValue
  let path: String

  init(_ value: JSONValue, path: String = "report") { (self.value, self.path) = (value, path) }

  func unexpected(_ expected: String, _ found: String? = nil) -> ReportError {
    .unexpected(path: path, expected: expected, found: found ?? value.kind)
  }

  // MARK: Members

  /// The members by key: looked up many times, walked once.
  func members() throws(ReportError) -> Members {
    guard let object = value.object else { throw unexpected("an object") }
    var members: [String: JSONValue] = [:]
    for member in object.members { members[member.key] = member.value }
    return Members(values: members, path: path)
  }

  struct Members {
    let values: [String: JSONValue]
    let path: String

    /// The member, or nil when it is missing or null.
    func optional(_ key: String) -> ReportReader? {
      guard let value = values[key], !value.isNull else { return nil }
      return ReportReader(value, path: path == "report" ? key : "\(path).\(key)")
    }

    func required(_ key: String) throws(ReportError) -> ReportReader {
      guard let reader = optional(key) else { throw .missing(path: path == "report" ? key : "\(path).\(key)") }
      return reader
    }

    func number(_ key: String, _ range: ClosedRange<Double> = 0...(.greatestFiniteMagnitude)) throws(ReportError) -> Double? {
      guard let reader = optional(key) else { return nil }
      return try reader.number(range)
    }

    func text(_ key: String) throws(ReportError) -> String? {
      guard let reader = optional(key) else { return nil }
      return try reader.text()
    }

    /// Every element of the list, or none when it is missing.
    func list<Element>(_ key: String, _ element: (ReportReader) throws(ReportError) -> Element) throws(ReportError) -> [Element] {
      guard let reader = optional(key) else { return [] }
      return try reader.list(element)
    }
  }

  // MARK: Values

  func text() throws(ReportError) -> String {
    guard let text = value.string else { throw unexpected("a string") }
    return text
  }

  func number(_ range: ClosedRange<Double>) throws(ReportError) -> Double {
    guard let number = value.double else { throw unexpected("a number") }
    guard range.contains(number) else {
      let (lower, upper) = (JSONValue.number(range.lowerBound).serialized(), JSONValue.number(range.upperBound).serialized())
      let expected = range.upperBound == .greatestFiniteMagnitude ? "a number of at least \(lower)" : "a number from \(lower) to \(upper)"
      throw unexpected(expected, value.serialized())
    }
    return number
  }

  func share() throws(ReportError) -> Double { try number(0...1) }

  /// A whole number of things.
  func count() throws(ReportError) -> Int {
    guard let count = value.int, count >= 0, count <= 1 << 52 else {
      throw unexpected("a whole number from 0 to 2^52", value.double.map { _ in value.serialized() })
    }
    return count
  }

  func flag() throws(ReportError) -> Bool {
    guard let flag = value.bool else { throw unexpected("a boolean") }
    return flag
  }

  func list<Element>(_ element: (ReportReader) throws(ReportError) -> Element) throws(ReportError) -> [Element] {
    guard let values = value.array else { throw unexpected("an array") }
    var result: [Element] = []
    result.reserveCapacity(values.count)
    for (index, value) in values.enumerated() { result.append(try element(ReportReader(value, path: "\(path)[\(index)]"))) }
    return result
  }
}
