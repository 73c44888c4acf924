internal import DibitJSON

/// Typed access to a config.json; a dotted key looks inside an object. `null` counts as absent.
struct ConfigurationKeys {
  private let root: JSONValue

  /// Far above any published model, and far below where products of sizes overflow.
  private static let largest = 1 << 24

  init(_ root: JSONValue) { self.root = root }

  func value(_ key: String) -> JSONValue? {
    var value: JSONValue? = root
    for part in key.split(separator: ".") { value = value?[String(part)] }
    return value?.isNull == true ? nil : value
  }

  /// Returns whether the key is there, even with the value null.
  func contains(_ key: String) -> Bool { root[key] != nil }

  func string(_ key: String, default fallback: String? = nil) throws(ModelError) -> String {
    guard let value = value(key) else {
      guard let fallback else { throw .missingKey(key) }
      return fallback
    }
    guard let text = value.string else { throw .invalidValue(key: key, expected: "a string", found: value.kind) }
    return text
  }

  func count(_ key: String, default fallback: Int? = nil, minimum: Int = 1) throws(ModelError) -> Int {
    guard let value = value(key) else {
      guard let fallback else { throw .missingKey(key) }
      return fallback
    }
    guard let number = value.int, number >= minimum, number <= Self.largest else {
      throw .invalidValue(key: key, expected: "a whole number from \(minimum) to \(Self.largest)", found: value.serialized())
    }
    return number
  }

  /// A number of layers: each takes memory before a tensor is seen, so the limit is low, though still far above any published model.
  func layers(_ key: String) throws(ModelError) -> Int {
    let (number, most) = (try count(key), 1 << 14)
    guard number <= most else { throw .invalidValue(key: key, expected: "at most \(most) layers", found: "\(number)") }
    return number
  }

  /// Nil where the key is absent.
  func optionalCount(_ key: String) throws(ModelError) -> Int? { value(key) == nil ? nil : try count(key) }

  func number(_ key: String, default fallback: Double? = nil) throws(ModelError) -> Double {
    guard let value = value(key) else {
      guard let fallback else { throw .missingKey(key) }
      return fallback
    }
    guard let number = value.double, number > 0, number.isFinite else {
      throw .invalidValue(key: key, expected: "a positive number", found: value.serialized())
    }
    return number
  }

  /// Nil where the key is absent.
  func optionalNumber(_ key: String) throws(ModelError) -> Double? { value(key) == nil ? nil : try number(key) }

  func bool(_ key: String, default fallback: Bool) throws(ModelError) -> Bool {
    guard let value = value(key) else { return fallback }
    guard let flag = value.bool else { throw .invalidValue(key: key, expected: "true or false", found: value.serialized()) }
    return flag
  }

  /// A list of `length` elements, each read by `element`; nil where the key is absent.
  func list<T>(_ key: String, length: Int, of what: String, _ element: (JSONValue) -> T?) throws(ModelError) -> [T]? {
    guard let value = value(key) else { return nil }
    let items = (value.array ?? []).compactMap(element)
    guard let all = value.array, all.count == length, items.count == length else {
      throw .invalidValue(
        key: key, expected: "a list of \(length) \(what)", found: value.array.map { "\($0.count) elements, or others" } ?? value.kind)
    }
    return items
  }

  /// Throws when the key is there with any other value.
  func require(_ key: String, _ supported: JSONValue) throws(ModelError) {
    guard let value = value(key), value != supported else { return }
    if let number = value.double, number == supported.double { return }
    throw .unsupported(key: key, value: Self.shown(value), supported: supported.serialized())
  }

  /// Throws when the key is there at all.
  func refuse(_ key: String) throws(ModelError) {
    guard let value = value(key) else { return }
    throw .unsupported(key: key, value: Self.shown(value), supported: "a configuration without it")
  }

  /// A value for a message of one line.
  static func shown(_ value: JSONValue) -> String {
    let text = value.serialized()
    return text.count <= 60 ? text : value.kind
  }
}
