internal import DibitCheckpoint
internal import DibitJSON

/// Typed access to the hyper-parameters of a GGUF file, which notes what was read: the rest must be known to change nothing.
struct GGUFKeys {
  private let file: GGUFFile
  /// `llama.`
  private let prefix: String
  private var read = Set<String>()

  /// Far above any published model, and far below where products of sizes overflow.
  private static let largest = 1 << 24

  init(_ file: GGUFFile, architecture: String) {
    self.file = file
    prefix = architecture + "."
  }

  private mutating func value(_ key: String) -> GGUFValue? {
    read.insert(prefix + key)
    return file[prefix + key]
  }

  /// A whole number; an array with one for each layer counts when all are the same.
  mutating func count(_ key: String, minimum: Int = 1) throws(GGUFModelError) -> Int {
    guard let found = try optionalCount(key, minimum: minimum) else { throw .missingKey(prefix + key) }
    return found
  }

  mutating func optionalCount(_ key: String, minimum: Int = 1) throws(GGUFModelError) -> Int? {
    guard let value = value(key) else { return nil }
    var found = value.int
    if let list = value.array?.ints, let first = list.first {
      guard list.allSatisfy({ $0 == first }) else {
        throw .unknownKey(prefix + key, found: "different for each layer")
      }
      found = first
    }
    guard let found, (minimum...Self.largest).contains(found) else {
      throw .value(key: prefix + key, expected: "a whole number from \(minimum) to \(Self.largest)", found: shown(value))
    }
    return found
  }

  /// A positive number as a double with the digits that the stored float needs.
  mutating func optionalNumber(_ key: String) throws(GGUFModelError) -> Double? {
    guard let value = value(key) else { return nil }
    guard let number = value.double, number.isFinite, number > 0 else {
      throw .value(key: prefix + key, expected: "a positive number", found: shown(value))
    }
    if case .float32(let float) = value { return Double("\(float)") ?? number }
    return number
  }

  mutating func optionalBool(_ key: String) throws(GGUFModelError) -> Bool? {
    guard let value = value(key) else { return nil }
    guard let flag = value.bool else { throw .value(key: prefix + key, expected: "a bool", found: shown(value)) }
    return flag
  }

  mutating func optionalText(_ key: String) throws(GGUFModelError) -> String? {
    guard let value = value(key) else { return nil }
    guard let text = value.text else { throw .value(key: prefix + key, expected: "a string", found: shown(value)) }
    return text
  }

  mutating func bools(_ key: String) -> [Bool]? { value(key)?.array?.bools }

  /// Throws for every key of the architecture that was not read and is not neutral.
  mutating func refuseOthers() throws(GGUFModelError) {
    for (key, value) in file.metadata where key.hasPrefix(prefix) && !read.contains(key) {
      let rest = String(key.dropFirst(prefix.count))
      if rest == "vocab_size" || rest == "attention.causal" && value.bool == true { continue }
      // Counts of parts that a model does not have.
      if value.int == 0 || value.double == 0 { continue }
      throw .unknownKey(key, found: shown(value))
    }
  }

  private func shown(_ value: GGUFValue) -> String {
    value.int.map(String.init) ?? value.double.map { "\($0)" } ?? value.bool.map { "\($0)" } ?? value.kind
  }
}
