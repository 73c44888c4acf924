internal import DibitDataset
package import DibitFiles
internal import DibitJSON
package import DibitTokenizer

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
  package static func write(_ messages: [DialogueMessage], to path: String, overwrites: Bool, inputs: JobInputs) throws {
    try writeFileAtomically(
      path: path, bytes: Array(ChatTranscript.serialized(messages.map(\.value)).utf8), replacing: overwrites ? mark : nil, inputs: inputs)
  }
}
