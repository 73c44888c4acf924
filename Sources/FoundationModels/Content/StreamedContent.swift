internal import DibitJSON

/// The content of one response while its JSON text grows. The names of the parts are the same in all snapshots.
struct StreamedContent {
  private let id: GenerationID
  private var reader: ContentReader
  private var text: [UInt8] = []

  /// The content of a response, empty as yet; `id` is the name of the whole.
  init(id: GenerationID) {
    self.id = id
    reader = ContentReader(id: id)
  }

  /// Returns the content of the text so far: all of it, not what is new.
  ///
  /// A text that goes on where the last one ended costs what is new, and what the open arrays and structures hold directly.
  ///
  /// - Throws: ``GeneratedContent/ParsingError``
  mutating func update(_ json: String) throws -> GeneratedContent {
    let bytes = Array(json.utf8)
    if !bytes.starts(with: text) {
      reader = ContentReader(id: id)
      text = []
    }
    do throws(JSONError) {
      try reader.read(bytes, from: text.count)
      let content = try reader.content()
      text = bytes
      return content
    } catch {
      reader = ContentReader(id: id)
      text = []
      throw GeneratedContent.ParsingError(rawContent: json, underlyingError: error, debugDescription: "\(error).")
    }
  }
}
