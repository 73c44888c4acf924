public import DibitJSON
internal import DibitKernels

extension ModelConfiguration {
  /// Reads a config.json. A key that would change the numbers in a way that is not supported is an error, never ignored.
  public init(json: JSONValue) throws(ModelError) {
    let keys = ConfigurationKeys(json)
    let name = try keys.string("model_type")
    guard let family = ModelFamily(rawValue: name) else {
      throw .unknownArchitecture(name, known: ModelFamily.allCases.map(\.rawValue))
    }
    switch family {
    case .llama: self = try Self.llama(keys)
    case .afm7: self = try Self.afm7(keys)
    }
    try validate()
  }

  private static func llama(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    try keys.require("hidden_act", "silu")
    try keys.require("attention_bias", false)
    try keys.require("mlp_bias", false)
    try keys.require("rope_scaling.rope_type", "default")
    try keys.require("rope_scaling.type", "default")
    try keys.require("rope_parameters.rope_type", "default")
    let (hidden, heads) = (try keys.count("hidden_size"), try keys.count("num_attention_heads"))
    return Self(
      family: .llama, vocabularySize: try keys.count("vocab_size"), hiddenSize: hidden,
      feedForwardSize: try keys.count("intermediate_size"),
      layers: try keys.count("num_hidden_layers"), reusingLayers: 0, heads: heads,
      keyValueHeads: try keys.count("num_key_value_heads", default: heads), headSize: try keys.count("head_dim", default: hidden / heads),
      normEpsilon: Float(try keys.number("rms_norm_eps", default: 1e-6)),
      ropeTheta: try keys.number("rope_parameters.rope_theta", default: try keys.number("rope_theta", default: 10_000)), ropePairing: .half,
      normalizesHeads: false, headNormEpsilon: 0, tiesEmbeddings: try keys.bool("tie_word_embeddings", default: false),
      quantizesKeyValues: false, contextLength: try keys.count("max_position_embeddings", default: 2048))
  }

  private static func afm7(_ keys: ConfigurationKeys) throws(ModelError) -> Self {
    try keys.require("tie_word_embeddings", true)
    let (hidden, heads) = (try keys.count("hidden_dim"), try keys.count("num_heads"))
    let factor = try keys.number("hidden_dim_scale_factor", default: 3.25)
    guard factor > 0, factor < 1024 else {
      throw .invalidValue(key: "hidden_dim_scale_factor", expected: "a factor between 0 and 1024", found: "\(factor)")
    }
    return Self(
      family: .afm7, vocabularySize: try keys.count("vocab_size"), hiddenSize: hidden, feedForwardSize: Int(Double(hidden) * factor),
      layers: try keys.count("num_layers"), reusingLayers: try keys.count("num_kv_reuse_layers", default: 0, minimum: 0), heads: heads,
      keyValueHeads: try keys.count("num_kv_heads"), headSize: hidden / heads,
      normEpsilon: Float(try keys.number("rms_norm_eps", default: 1e-5)),
      ropeTheta: try keys.number("rope_theta", default: 50_000), ropePairing: .interleaved, normalizesHeads: true, headNormEpsilon: 1e-5,
      tiesEmbeddings: true, quantizesKeyValues: true, contextLength: try keys.count("max_position_embeddings", default: 4096))
  }

  /// The config.json of an `afm7` model, as mlx-lm writes it.
  public var json: JSONValue {
    let factor = Double(feedForwardSize) / Double(hiddenSize)
    return [
      "model_type": .string(family.rawValue), "vocab_size": .integer(vocabularySize), "hidden_dim": .integer(hiddenSize),
      "num_layers": .integer(layers), "num_kv_reuse_layers": .integer(reusingLayers), "num_heads": .integer(heads),
      "num_kv_heads": .integer(keyValueHeads), "hidden_dim_scale_factor": .number(factor), "rope_theta": .number(ropeTheta),
      "rms_norm_eps": .number(Double("\(normEpsilon)") ?? Double(normEpsilon)), "max_position_embeddings": .integer(contextLength),
      "tie_word_embeddings": true,
    ]
  }

  private func validate() throws(ModelError) {
    func check(_ holds: Bool, _ key: String, _ expected: String, _ found: Int) throws(ModelError) {
      guard holds else { throw .invalidValue(key: key, expected: expected, found: "\(found)") }
    }
    try check(heads % keyValueHeads == 0, "num_key_value_heads", "a divisor of the \(heads) heads", keyValueHeads)
    try check(headSize > 0 && headSize % 2 == 0, "head_dim", "an even number", headSize)
    try check(reusingLayers < layers, "num_kv_reuse_layers", "less than the \(layers) layers", reusingLayers)
    try check(feedForwardSize > 0, "hidden_dim_scale_factor", "a feed-forward size of at least 1", feedForwardSize)
  }
}

/// Typed access to a config.json; a dotted key looks inside an object. `null` counts as absent.
struct ConfigurationKeys {
  private let root: JSONValue

  /// Far above any published model, and far below where products of sizes overflow.
  private static let largest = 1 << 24

  init(_ root: JSONValue) { self.root = root }

  private func value(_ key: String) -> JSONValue? {
    var value: JSONValue? = root
    for part in key.split(separator: ".") { value = value?[String(part)] }
    return value?.isNull == true ? nil : value
  }

  func string(_ key: String) throws(ModelError) -> String {
    guard let value = value(key) else { throw .missingKey(key) }
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

  func number(_ key: String, default fallback: Double) throws(ModelError) -> Double {
    guard let value = value(key) else { return fallback }
    guard let number = value.double, number > 0 else {
      throw .invalidValue(key: key, expected: "a positive number", found: value.serialized())
    }
    return number
  }

  func bool(_ key: String, default fallback: Bool) throws(ModelError) -> Bool {
    guard let value = value(key) else { return fallback }
    guard let flag = value.bool else { throw .invalidValue(key: key, expected: "true or false", found: value.serialized()) }
    return flag
  }

  /// Throws when the key is there with any other value.
  func require(_ key: String, _ supported: JSONValue) throws(ModelError) {
    guard let value = value(key), value != supported else { return }
    throw .unsupported(key: key, value: value.serialized(), supported: supported.serialized())
  }
}
