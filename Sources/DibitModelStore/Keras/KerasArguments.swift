internal import DibitCheckpoint
internal import DibitJSON

/// The arguments of a Keras layer, with typed access; null counts as absent.
struct KerasArguments {
  let members: JSONObject
  let path: String

  /// Far above any published model, and far below where products of sizes overflow.
  private static let largest = 1 << 24
  private static let dtypes: Set<String> = ["float32", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16"]

  private func value(_ name: String) -> JSONValue? {
    guard let value = members[name], !value.isNull else { return nil }
    return value
  }

  func has(_ name: String) -> Bool { value(name) != nil }

  func malformed(_ name: String, expected: String) -> ModelStoreError {
    .malformed(path: path, key: name, expected: expected, found: (members[name] ?? .null).serialized())
  }

  func count(_ name: String, default fallback: Int? = nil) throws(ModelStoreError) -> Int {
    if value(name) == nil, let fallback { return fallback }
    guard let number = value(name)?.int, number >= 1, number <= Self.largest else {
      throw malformed(name, expected: "a whole number from 1 to \(Self.largest)")
    }
    return number
  }

  func positive(_ name: String, default fallback: Double) throws(ModelStoreError) -> Double {
    guard let value = value(name) else { return fallback }
    guard let number = value.double, number > 0, number.isFinite else { throw malformed(name, expected: "a positive number") }
    return number
  }

  func flag(_ name: String, default fallback: Bool) throws(ModelStoreError) -> Bool {
    guard let value = value(name) else { return fallback }
    guard let flag = value.bool else { throw malformed(name, expected: "true or false") }
    return flag
  }

  /// Throws for an argument that is not among `names`.
  func checkNames(_ names: Set<String>) throws(ModelStoreError) {
    for (key, value) in members.members where !value.isNull && !names.contains(key) {
      throw .malformed(path: path, key: key, expected: "no such argument, because its meaning is not known", found: value.serialized())
    }
  }

  /// Throws when the weights are not plain floats: a policy can also say that they are quantised.
  func checkDType() throws(ModelStoreError) {
    guard let policy = value("dtype") else { return }
    let isPlain = policy["class_name"].map { $0.string == "DTypePolicy" || $0.string == "Policy" } ?? true
    let name = policy.string ?? policy["config"]?["name"]?.string
    guard isPlain, let name, Self.dtypes.contains(name) else {
      throw malformed("dtype", expected: "a policy of float32, float16 or bfloat16")
    }
  }
}
