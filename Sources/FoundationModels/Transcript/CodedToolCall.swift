/// A call as the JSON of a transcript has it. The arguments are JSON in a string, as a model writes them, and so keep their order.
struct CodedToolCall {
  /// The call.
  let call: Transcript.ToolCall

  private enum CodingKeys: String, CodingKey { case id, name, arguments, metadata }
}

extension CodedToolCall: Encodable {
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(call.id, forKey: .id)
    try container.encode(call.toolName, forKey: .name)
    try container.encode(call.arguments.jsonString, forKey: .arguments)
    try container.encode(metadata: call.metadata, forKey: .metadata)
  }
}

extension CodedToolCall: Decodable {
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let id = try container.decode(String.self, forKey: .id)
    let name = try container.decode(String.self, forKey: .name)
    let text = try container.decode(String.self, forKey: .arguments)
    func failure(_ reason: String, _ error: (any Error)? = nil) -> DecodingError {
      DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: container.codingPath + [CodingKeys.arguments],
          debugDescription: "The arguments of a call of '\(name)' are not JSON: \(reason)", underlyingError: error))
    }
    let arguments: GeneratedContent
    do { arguments = try GeneratedContent(json: text) } catch {
      throw failure((error as? GeneratedContent.ParsingError)?.debugDescription ?? "\(error)", error)
    }
    guard arguments.isComplete else { throw failure("the text ends too early.") }
    var call = Transcript.ToolCall(id: id, toolName: name, arguments: arguments.withoutIDs)
    call.metadata = container.metadata(forKey: .metadata)
    self.call = call
  }
}
