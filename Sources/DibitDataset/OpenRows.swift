/// A file whose rows are being read, each as a text; a class, because readers cannot be copied and an iterator must be.
class OpenRows {
  /// The number of bytes of the file that have been read.
  var bytesRead: Int { 0 }
  /// The next row or its fault; nil behind the last, and behind a fault of the file.
  func next() -> TextInput? { nil }

  /// Begins to read rows of a format, or lines where there is none; `path` is what their locations have, `file` what errors call it.
  static func open(
    _ stream: consuming TextStream, _ format: RowFormat?, path: String, file: String, options: RowOptions
  ) throws(DatasetError) -> OpenRows {
    switch format {
    case .jsonLines: OpenReader(JSONLinesReader(stream, path: path, file: file, options: options), path)
    case .delimited(let separator):
      OpenReader(try DelimitedReader.open(stream, path: path, file: file, separator: separator, options: options), path)
    case nil: OpenReader(LineReader(stream, path: path, options: options), path)
    }
  }
}

private final class OpenReader<Reader: RowReader & ~Copyable>: OpenRows {
  private var reader: Reader
  private let path: String
  private var hasEnded = false

  init(_ reader: consuming Reader, _ path: String) {
    self.reader = reader
    self.path = path
  }

  override var bytesRead: Int { reader.bytesRead }

  override func next() -> TextInput? {
    guard !hasEnded else { return nil }
    do throws(DatasetError) {
      guard let example = try reader.next() else { return nil }
      // Of files this was looked at when they were opened.
      let content: Result<String, DatasetError> =
        example.text.utf8.contains(0) ? .failure(.notText(path: example.location)) : .success(example.text)
      return TextInput(location: TextLocation(file: path, line: example.line), content: content)
    } catch {
      // Behind a faulty row others follow; behind a fault of the file nothing does.
      guard case .row(_, let line, _, _) = error else {
        hasEnded = true
        return TextInput(location: TextLocation(file: path), content: .failure(error))
      }
      return TextInput(location: TextLocation(file: path, line: line), content: .failure(error))
    }
  }
}

/// Every line that is not blank as a row.
struct LineReader: ~Copyable, RowReader {
  private let path: String
  private let options: RowOptions
  private var cursor: TextCursor
  private var bytes: [UInt8] = []

  init(_ stream: consuming TextStream, path: String, options: RowOptions) {
    (self.path, self.options) = (path, options)
    cursor = TextCursor(stream)
  }

  var encoding: TextEncoding { cursor.stream.encoding }
  var replacements: Int { cursor.stream.replacements }
  var bytesRead: Int { cursor.stream.bytesRead }

  mutating func next() throws(DatasetError) -> DatasetExample? {
    guard let line = try cursor.nextRow(into: &bytes, limit: options.maximumRowBytes, file: path) else { return nil }
    return .labelled(LabelledExample(path: path, line: line, text: String(decoding: bytes, as: UTF8.self), labels: []))
  }
}
