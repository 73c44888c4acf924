import DibitJSON

/// An independent judge of values against schemas, for the tests: plain recursion over the parsed value, written for reading.
///
/// It differs from the specification where `docs/constraints.md` says so: `properties` and `prefixItems` close what they list.
struct Validator {
  let root: JSONValue

  init(_ schema: String) throws { root = try JSONValue(parsing: schema) }

  func accepts(_ value: JSONValue) -> Bool { accepts(value, root) }

  /// A part of `allOf` closes nothing: the others may list more.
  func accepts(_ value: JSONValue, _ schema: JSONValue, isPart: Bool = false) -> Bool {
    if let bool = schema.bool { return bool }
    guard let keywords = schema.object else { return false }
    for (key, rule) in keywords.members where !holds(key, rule, value, keywords) { return false }
    if !isPart, case .object(let object) = value, keywords["additionalProperties"] == nil, let declared = keywords["properties"]?.object {
      let known = declared.keys + (keywords["required"]?.array ?? []).compactMap(\.string)
      if keywords["allOf"] == nil, keywords["anyOf"] == nil, object.keys.contains(where: { !known.contains($0) }) { return false }
    }
    if case .array(let array) = value, keywords["items"] == nil, let prefix = keywords["prefixItems"]?.array, array.count > prefix.count {
      return false
    }
    return true
  }

  private func holds(_ key: String, _ rule: JSONValue, _ value: JSONValue, _ keywords: JSONObject) -> Bool {
    switch key {
    case "type":
      let names = rule.string.map { [$0] } ?? (rule.array ?? []).compactMap(\.string)
      return names.contains { Self.isType($0, value) } || (value.isNull && keywords["nullable"] == true)
    case "enum": return (rule.array ?? []).contains { Self.same($0, value) }
    case "const": return Self.same(rule, value)
    case "$ref": return accepts(value, find(rule.string ?? ""))
    case "allOf": return (rule.array ?? []).allSatisfy { accepts(value, $0, isPart: true) }
    case "anyOf", "oneOf": return (rule.array ?? []).contains { accepts(value, $0, isPart: keywords["properties"] != nil) }
    default: break
    }
    if let object = value.object { return holdsForObject(key, rule, object, keywords) }
    if let array = value.array { return holdsForArray(key, rule, array, keywords) }
    if let string = value.string { return holdsForString(key, rule, string) }
    if let number = value.double { return holdsForNumber(key, rule, number) }
    return true
  }

  private func holdsForObject(_ key: String, _ rule: JSONValue, _ object: JSONObject, _ keywords: JSONObject) -> Bool {
    switch key {
    case "properties":
      return (rule.object?.members ?? []).allSatisfy { member in object[member.key].map { accepts($0, member.value) } ?? true }
    case "required": return (rule.array ?? []).allSatisfy { object[$0.string ?? ""] != nil }
    case "additionalProperties":
      let declared = keywords["properties"]?.object?.keys ?? []
      return object.members.allSatisfy { declared.contains($0.key) || accepts($0.value, rule) }
    case "minProperties": return object.count >= rule.int ?? 0
    case "maxProperties": return object.count <= rule.int ?? 0
    default: return true
    }
  }

  private func holdsForArray(_ key: String, _ rule: JSONValue, _ array: [JSONValue], _ keywords: JSONObject) -> Bool {
    switch key {
    case "prefixItems": return zip(array, rule.array ?? []).allSatisfy { accepts($0, $1) }
    case "items": return array.dropFirst(keywords["prefixItems"]?.array?.count ?? 0).allSatisfy { accepts($0, rule) }
    case "minItems": return array.count >= rule.int ?? 0
    case "uniqueItems":
      return rule != true || array.indices.allSatisfy { index in !array[..<index].contains { Self.same($0, array[index]) } }
    case "maxItems": return array.count <= rule.int ?? 0
    default: return true
    }
  }

  private func holdsForString(_ key: String, _ rule: JSONValue, _ string: String) -> Bool {
    let length = string.unicodeScalars.count
    switch key {
    case "minLength": return length >= rule.int ?? 0
    case "maxLength": return length <= rule.int ?? 0
    case "pattern":
      guard let regex = try? Regex(rule.string ?? "") else { return false }
      return string.firstMatch(of: regex.matchingSemantics(.unicodeScalar).asciiOnlyDigits().asciiOnlyWordCharacters()) != nil
    case "format": return Self.isFormat(rule.string ?? "", string)
    default: return true
    }
  }

  private func holdsForNumber(_ key: String, _ rule: JSONValue, _ number: Double) -> Bool {
    let limit = rule.double ?? .nan
    switch key {
    case "minimum": return number >= limit
    case "maximum": return number <= limit
    case "exclusiveMinimum": return number > limit
    case "exclusiveMaximum": return number < limit
    case "multipleOf": return abs(number / limit - (number / limit).rounded()) < 1e-6
    default: return true
    }
  }

  private func find(_ reference: String) -> JSONValue {
    var found = root
    for part in reference.split(separator: "/").dropFirst() { found = found[String(part)] ?? false }
    return found
  }

  private static func isType(_ name: String, _ value: JSONValue) -> Bool {
    switch name {
    case "null": value.isNull
    case "boolean": value.bool != nil
    case "string": value.string != nil
    case "array": value.array != nil
    case "object": value.object != nil
    case "number": value.double != nil
    case "integer": value.double.map { $0.rounded() == $0 } ?? false
    default: false
    }
  }

  static func same(_ one: JSONValue, _ two: JSONValue) -> Bool {
    if let one = one.double, let two = two.double { return one == two }
    if let one = one.array, let two = two.array { return one.count == two.count && zip(one, two).allSatisfy { same($0, $1) } }
    if let one = one.object, let two = two.object {
      return one.count == two.count && one.members.allSatisfy { member in two[member.key].map { same($0, member.value) } ?? false }
    }
    return one == two
  }

  private static func isFormat(_ name: String, _ text: String) -> Bool {
    switch name {
    case "date": return isDate(text)
    case "time": return isTime(text)
    case "date-time":
      let parts = text.split(separator: "T", maxSplits: 1)
      return parts.count == 2 && isDate(String(parts[0])) && isTime(String(parts[1]))
    case "uuid":
      return text.split(separator: "-", omittingEmptySubsequences: false).map(\.count) == [8, 4, 4, 4, 12]
        && text.allSatisfy { $0 == "-" || $0.isHexDigit }
    case "email":
      let parts = text.split(separator: "@", omittingEmptySubsequences: false)
      return parts.count == 2 && !parts[0].isEmpty && parts[1].contains(".") && !parts[1].hasPrefix(".") && !parts[1].hasSuffix(".")
    case "ipv4":
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    default: return false
    }
  }

  private static func isDate(_ text: String) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
    guard parts.map(\.utf8.count) == [4, 2, 2], let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2]) else {
      return false
    }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return (1...12).contains(month) && day >= 1 && day <= days[month - 1]
  }

  private static func isTime(_ text: String) -> Bool {
    guard text.utf8.count >= 9, let hour = Int(text.prefix(2)), let minute = Int(text.dropFirst(3).prefix(2)) else { return false }
    guard let second = Int(text.dropFirst(6).prefix(2)), hour < 24, minute < 60, second < 60 else { return false }
    return text.hasSuffix("Z") || text.dropLast(5).last == "+" || text.dropLast(5).last == "-"
  }
}
