/// The options of a prompt as the JSON of a transcript has them: an object with the options that are not nil.
///
/// Greedy choice is `"greedy": true`, a draw among k tokens `"topK"`, one up to a probability `"topP"`; both draws may have a `"randomSeed"`.
struct CodedOptions {
  /// The options.
  let options: GenerationOptions

  private enum CodingKeys: String, CodingKey {
    case temperature, maximumResponseTokens, greedy, topK, topP, randomSeed, toolCallingMode
  }
}

extension CodedOptions: Encodable {
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(options.temperature, forKey: .temperature)
    try container.encodeIfPresent(options.maximumResponseTokens, forKey: .maximumResponseTokens)
    try container.encodeIfPresent(options.toolCallingMode?.codedName, forKey: .toolCallingMode)
    switch options.sampling?.kind {
    case .greedy: try container.encode(true, forKey: .greedy)
    case .randomTopK(let count, let seed):
      try container.encode(count, forKey: .topK)
      try container.encodeIfPresent(seed, forKey: .randomSeed)
    case .randomProbabilityThreshold(let threshold, let seed):
      try container.encode(threshold, forKey: .topP)
      try container.encodeIfPresent(seed, forKey: .randomSeed)
    case nil: break
    }
  }
}

extension CodedOptions: Decodable {
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    var options = GenerationOptions(
      sampling: try Self.sampling(in: container), temperature: try container.decodeIfPresent(Double.self, forKey: .temperature),
      maximumResponseTokens: try container.decodeIfPresent(Int.self, forKey: .maximumResponseTokens))
    if let name = try container.decodeIfPresent(String.self, forKey: .toolCallingMode) {
      guard let mode = GenerationOptions.ToolCallingMode(codedName: name) else {
        throw DecodingError.dataCorruptedError(
          forKey: .toolCallingMode, in: container,
          debugDescription: "Expected the mode 'allowed', 'required' or 'disallowed', found '\(name)'.")
      }
      options.toolCallingMode = mode
    }
    self.options = options
  }

  /// A seed alone means nothing and is ignored: the file may come from a framework that names its modes otherwise.
  private static func sampling(in container: KeyedDecodingContainer<CodingKeys>) throws -> GenerationOptions.SamplingMode? {
    let seed = try container.decodeIfPresent(UInt64.self, forKey: .randomSeed)
    var modes: [GenerationOptions.SamplingMode] = []
    if try container.decodeIfPresent(Bool.self, forKey: .greedy) == true { modes.append(.greedy) }
    if let count = try container.decodeIfPresent(Int.self, forKey: .topK) { modes.append(.random(top: count, seed: seed)) }
    if let threshold = try container.decodeIfPresent(Double.self, forKey: .topP) {
      modes.append(.random(probabilityThreshold: threshold, seed: seed))
    }
    guard modes.count <= 1 else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: container.codingPath, debugDescription: "Expected at most one of 'greedy', 'topK' and 'topP', found several."))
    }
    return modes.first
  }
}

extension GenerationOptions.ToolCallingMode {
  /// The name of the mode in JSON.
  fileprivate var codedName: String {
    switch kind {
    case .allowed: "allowed"
    case .required: "required"
    case .disallowed: "disallowed"
    }
  }

  /// The mode of a name; nil for an unknown one.
  fileprivate init?(codedName: String) {
    switch codedName {
    case "allowed": self = .allowed
    case "required": self = .required
    case "disallowed": self = .disallowed
    default: return nil
    }
  }
}

/// The context options of a prompt as the JSON of a transcript has them: an object with those that are not nil.
struct CodedContextOptions: Codable {
  /// The options.
  let options: ContextOptions

  private enum CodingKeys: String, CodingKey { case includeSchemaInPrompt, reasoningLevel }

  init(options: ContextOptions) { self.options = options }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(options.includeSchemaInPrompt, forKey: .includeSchemaInPrompt)
    switch options.reasoningLevel {
    case .light?: try container.encode("light", forKey: .reasoningLevel)
    case .moderate?: try container.encode("moderate", forKey: .reasoningLevel)
    case .deep?: try container.encode("deep", forKey: .reasoningLevel)
    case .custom(let name)?: try container.encode(name, forKey: .reasoningLevel)
    case nil: break
    }
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let level = try container.decodeIfPresent(String.self, forKey: .reasoningLevel).map { name -> ContextOptions.ReasoningLevel in
      switch name {
      case "light": .light
      case "moderate": .moderate
      case "deep": .deep
      default: .custom(name)
      }
    }
    options = ContextOptions(
      includeSchemaInPrompt: try container.decodeIfPresent(Bool.self, forKey: .includeSchemaInPrompt), reasoningLevel: level)
  }
}
