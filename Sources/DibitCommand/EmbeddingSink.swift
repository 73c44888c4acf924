internal import DibitCheckpoint
internal import DibitDataset
internal import DibitEvaluation
internal import DibitFiles
internal import DibitJSON
internal import DibitReport
internal import DibitTensor

/// The destination of vectors: standard output, or a file that appears when it is whole.
struct EmbeddingSink: ~Copyable {
  /// The forms.
  enum Format: String, CaseIterable, Equatable {
    /// An object with location, tokens and vector on each line.
    case jsonl
    /// The location and a column for each element.
    case csv
    /// One tensor `embeddings` with a row for each text; the locations are in the metadata.
    case safetensors
  }

  /// The mark that each form has near its start.
  private static let mark = OutputMark("a file of embeddings") { start in
    // Behind the length of the header.
    if start.dropFirst(8).starts(with: "{\"__metadata__\":{\"paths\":\"[".utf8) { return true }
    let text = String(decoding: start, as: UTF8.self)
    return text.hasPrefix("path,e0") || text.hasPrefix("{\"file\":") && text.contains("\"embedding\":[")
  }

  private let format: Format
  private let size: Int
  private var staged: StagedFile?
  private var file: JournalFile?
  private var locations: [String] = []
  private var vectors: [Float] = []
  private var hasHeader = false

  /// - Throws: when the output exists and may not be replaced.
  init(_ format: Format, size: Int, output: String?, overwrite: Bool, inputs: JobInputs) throws {
    (self.format, self.size) = (format, size)
    guard let output else { return }
    staged = try StagedFile(destination: output, replacing: overwrite ? Self.mark : nil, inputs: inputs)
    if format != .safetensors, let path = staged?.path { file = try JournalFile(path: path, inputs: .none) }
  }

  /// True for a file.
  var isFile: Bool { file != nil || format == .safetensors }

  /// Writes the vector of a text; false when nobody reads it any more.
  mutating func write(_ embedding: TextEmbedding, of location: TextLocation) throws -> Bool {
    // No vector of damaged weights is given away.
    try OpenedModels.waitForChecks()
    switch format {
    case .jsonl:
      var object = JSONObject()
      object["file"] = .string(location.file)
      if location.line > 0 { object["line"] = .integer(location.line) }
      object["tokens"] = .integer(embedding.tokens)
      object["truncated_tokens"] = .integer(embedding.truncatedTokens)
      object["embedding"] = .array(embedding.vector.map { .number(Self.shortest($0)) })
      return try append(JSONValue.object(object).serialized() + "\n")
    case .csv:
      let header = hasHeader ? "" : CSV.record(["path"] + (0..<size).map { "e\($0)" })
      hasHeader = true
      let numbers = embedding.vector.map { JSONValue.number(Self.shortest($0)).serialized() }
      return try append(header + CSV.record([location.description] + numbers))
    case .safetensors:
      locations.append(location.description)
      vectors += embedding.vector
      return true
    }
  }

  /// Waits until a file is on the disk and gives it its name.
  consuming func finish() throws {
    if format == .safetensors, let path = staged?.path {
      let metadata = [(key: "paths", value: JSONValue.array(locations.map { .string($0) }).serialized())]
      var writer = try SafetensorsWriter(
        path: path, tensors: [(name: "embeddings", dtype: DType.f32, shape: [locations.count, size])], metadata: metadata)
      try writer.append(floats: vectors.span, as: .f32)
      _ = try writer.finalize()
    }
    try file?.sync()
    if let staged = staged.take() { try staged.commit() }
  }

  private mutating func append(_ text: String) throws -> Bool {
    let bytes = Array(text.utf8)
    guard file != nil else { return try StandardOutput.write(bytes) }
    try file?.append(bytes.span)
    return true
  }

  /// The number with the fewest digits that is this float.
  private static func shortest(_ value: Float) -> Double { Double("\(value)") ?? Double(value) }
}
