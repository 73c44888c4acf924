internal import DibitDataset
package import DibitFiles
package import DibitInference
package import DibitKernels
package import DibitModelStore
package import DibitTokenizer

extension ChatSession {
  /// A chat with a model that can tell who speaks, under an adapter that did not learn to tag.
  package init(_ model: StoredModel, adapter: OpenedAdapter?, messages: [ChatMessage] = [], on compute: Compute) throws {
    let format = try model.chatFormat()
    guard format.tellsRoles else { throw StoredModel.noChat(model.path) }
    if let adapter, adapter.tagger != nil {
      throw DibitError(.invalidData, "the adapter '\(adapter.path)' was trained to tag texts, not to talk", .tagInstead)
    }
    let session = Session(model.configuration, weights: model.weights, adapter: adapter?.loaded, on: compute)
    self.init(session, format: format, messages: messages)
  }
}

/// A file with the messages of a chat.
package enum TranscriptFile {
  /// The most bytes of one; no model reads as much.
  private static let limit = 64 << 20

  /// The beginning of a chat that was kept.
  package static let mark = OutputMark("a chat") { $0.starts(with: "[\n  {\"role\":".utf8) || $0.elementsEqual("[]\n".utf8) }

  /// Reads the messages in a file.
  package static func read(_ path: String) throws -> [ChatMessage] {
    let bytes = try readFile(path, limit: limit)
    do { return try ChatTranscript.messages(parsing: bytes) } catch { throw DibitError(.invalidData, "'\(path)': \(error)") }
  }

  /// Writes the messages to a file, which appears when it is whole.
  package static func write(_ messages: [ChatMessage], to path: String, overwrites: Bool, inputs: JobInputs) throws {
    try writeFileAtomically(
      path: path, bytes: Array(ChatTranscript.serialized(messages).utf8), replacing: overwrites ? mark : nil, inputs: inputs)
  }
}
