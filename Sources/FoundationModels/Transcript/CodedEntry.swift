#if FoundationModels27
  internal import Foundation
#endif

/// An entry as the JSON of a transcript has it: an object with a role.
///
/// The wrapper keeps the coding out of the public types, which only ``Transcript`` as a whole has.
struct CodedEntry {
  /// The entry.
  let entry: Transcript.Entry

  enum CodingKeys: String, CodingKey {
    case role, id, contents, tools, options, responseFormat, toolCalls, assets, toolName, toolCallID, contextOptions, metadata
    #if FoundationModels27
      case signature
    #endif
  }

  private enum Role: String, CaseIterable {
    case instructions, user, response, tool
    #if FoundationModels27
      case reasoning
    #endif
  }
}

extension CodedEntry: Encodable {
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(role.rawValue, forKey: .role)
    try container.encode(entry.id, forKey: .id)
    switch entry {
    case .instructions(let instructions):
      try container.encode(instructions.segments.map(CodedSegment.init), forKey: .contents)
      if !instructions.toolDefinitions.isEmpty {
        try container.encode(instructions.toolDefinitions.map(CodedToolDefinition.init), forKey: .tools)
      }
    case .prompt(let prompt):
      try container.encode(prompt.segments.map(CodedSegment.init), forKey: .contents)
      try container.encode(CodedOptions(options: prompt.options), forKey: .options)
      try container.encodeIfPresent(prompt.responseFormat.map(CodedResponseFormat.init), forKey: .responseFormat)
      if prompt.contextOptions != ContextOptions() {
        try container.encode(CodedContextOptions(options: prompt.contextOptions), forKey: .contextOptions)
      }
      try container.encode(metadata: prompt.metadata, forKey: .metadata)
    case .toolCalls(let calls):
      try container.encode(calls.map(CodedToolCall.init), forKey: .toolCalls)
    case .toolOutput(let output):
      try container.encode(output.toolName, forKey: .toolName)
      try container.encode(output.id, forKey: .toolCallID)
      try container.encode(output.segments.map(CodedSegment.init), forKey: .contents)
    case .response(let response):
      if !response.assetIDs.isEmpty { try container.encode(response.assetIDs, forKey: .assets) }
      try container.encode(response.segments.map(CodedSegment.init), forKey: .contents)
      try container.encode(metadata: response.metadata.filter { $0.key != "assetIDs" }, forKey: .metadata)
    #if FoundationModels27
      case .reasoning(let reasoning):
        try container.encode(reasoning.segments.map(CodedSegment.init), forKey: .contents)
        try container.encodeIfPresent(reasoning.signature, forKey: .signature)
        try container.encode(metadata: reasoning.metadata, forKey: .metadata)
    #endif
    }
  }

  private var role: Role {
    switch entry {
    case .instructions: .instructions
    case .prompt: .user
    case .toolCalls, .response: .response
    case .toolOutput: .tool
    #if FoundationModels27
      case .reasoning: .reasoning
    #endif
    }
  }
}

extension CodedEntry: Decodable {
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let name = try container.decode(String.self, forKey: .role)
    guard let role = Role(rawValue: name) else {
      throw DecodingError.dataCorruptedError(
        forKey: .role, in: container,
        debugDescription: "Expected the role \(alternatives(Role.self)), found '\(name)'.")
    }
    let id = try container.decode(String.self, forKey: .id)
    switch role {
    case .instructions:
      let tools = try container.decodeIfPresent([CodedToolDefinition].self, forKey: .tools) ?? []
      entry = .instructions(
        Transcript.Instructions(id: id, segments: try Self.segments(in: container), toolDefinitions: tools.map(\.definition)))
    case .user:
      let options = try container.decodeIfPresent(CodedOptions.self, forKey: .options)?.options
      let format = try container.decodeIfPresent(CodedResponseFormat.self, forKey: .responseFormat)?.format
      // How others write these is not known, so that what cannot be read is left out.
      let context = try? container.decodeIfPresent(CodedContextOptions.self, forKey: .contextOptions)?.options
      var prompt = Transcript.Prompt(
        id: id, segments: try Self.segments(in: container), options: options ?? GenerationOptions(), responseFormat: format)
      prompt.contextOptions = context ?? ContextOptions()
      prompt.metadata = container.metadata(forKey: .metadata)
      entry = .prompt(prompt)
    case .response:
      entry = try Self.response(id: id, in: container)
    case .tool:
      // Outputs are found by their call, so its identifier is the one that counts.
      let callID = try container.decodeIfPresent(String.self, forKey: .toolCallID)
      entry = .toolOutput(
        Transcript.ToolOutput(
          id: callID ?? id, toolName: try container.decode(String.self, forKey: .toolName),
          segments: try Self.segments(in: container)))
    #if FoundationModels27
      case .reasoning:
        var reasoning = Transcript.Reasoning(
          id: id, segments: try Self.segments(in: container), signature: try container.decodeIfPresent(Data.self, forKey: .signature))
        reasoning.metadata = container.metadata(forKey: .metadata)
        entry = .reasoning(reasoning)
    #endif
    }
  }

  /// A response is one of two kinds of entries; the members that are there tell.
  private static func response(id: String, in container: KeyedDecodingContainer<CodingKeys>) throws -> Transcript.Entry {
    guard let calls = try container.decodeIfPresent([CodedToolCall].self, forKey: .toolCalls) else {
      guard container.contains(.contents) else {
        throw DecodingError.keyNotFound(
          CodingKeys.contents,
          DecodingError.Context(codingPath: container.codingPath, debugDescription: "A response needs 'contents' or 'toolCalls'."))
      }
      let assets = try container.decodeIfPresent([String].self, forKey: .assets) ?? []
      var response = Transcript.Response(id: id, assetIDs: assets, segments: try segments(in: container))
      response.metadata.merge(container.metadata(forKey: .metadata)) { $1 }
      return .response(response)
    }
    guard try container.decodeIfPresent([CodedSegment].self, forKey: .contents)?.isEmpty ?? true else {
      throw DecodingError.dataCorruptedError(
        forKey: .toolCalls, in: container, debugDescription: "A response has either 'contents' or 'toolCalls', found both.")
    }
    return .toolCalls(Transcript.ToolCalls(id: id, calls.map(\.call)))
  }

  private static func segments(in container: KeyedDecodingContainer<CodingKeys>) throws -> [Transcript.Segment] {
    try container.decode([CodedSegment].self, forKey: .contents).map(\.segment)
  }
}

/// The values of an enumeration as a message lists them: "'a', 'b' or 'c'".
func alternatives<Value: CaseIterable & RawRepresentable<String>>(_ type: Value.Type) -> String {
  let names = type.allCases.map { "'\($0.rawValue)'" }
  return names.count < 2 ? names.joined() : "\(names.dropLast().joined(separator: ", ")) or \(names[names.count - 1])"
}
