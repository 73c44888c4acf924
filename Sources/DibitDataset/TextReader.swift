internal import DibitTensor

/// A part of a document.
package struct TextPiece: Equatable, Sendable {
  /// The file, as in `TextFolder.files`, and the line of a row.
  package let path: String
  /// The text, with LF line ends. The pieces of a document, joined, are its text.
  package let text: String
  /// True where the document begins here.
  package let startsDocument: Bool
  /// True where the document ends here.
  package let endsDocument: Bool
}

/// Reads the documents of a `TextFolder`, one in each file or in each row of a file of rows.
///
/// Files that are empty, binary or unreadable and rows without a text are passed by and reported. Large files are mapped into memory: they
/// must not be cut short by somebody else while they are read. Copies share a position within rows.
package struct TextReader: IteratorProtocol {
  private struct Document {
    let path: String
    let data: Bytes
    let encoding: TextEncoding
    var position: Int
  }

  /// The findings so far: those of the listing and those of the files read.
  package private(set) var report: ScanReport
  /// The number of bytes of `TextFolder.bytes` that have been read, for progress.
  package var bytesRead: Int { bytesDone + (rows?.bytesRead ?? 0) }

  private let folder: TextFolder
  private var nextFile = 0
  private var document: Document?
  private var rows: OpenRows?
  /// Bytes of the document and of all files before it that have been read.
  private var bytesDone = 0

  init(folder: TextFolder) {
    self.folder = folder
    report = folder.report
  }

  /// The next piece, or nil after the last document.
  package mutating func next() -> TextPiece? {
    while true {
      if let rows {
        if let piece = nextRow(rows) { return piece }
        bytesDone += folder.file(nextFile - 1).bytes
        self.rows = nil
      }
      if document == nil {
        guard nextFile < folder.files.count else { return nil }
        // As where texts are tagged.
        if let format = TextInputOptions().rowFormat(of: folder.files[nextFile]) {
          rows = openRows(nextFile, format)
        } else {
          document = open(nextFile)
        }
        nextFile += 1
      }
      if let piece = cutPiece() { return piece }
    }
  }

  private static let rowOptions: RowOptions = {
    var options = RowOptions()
    (options.needsLabels, options.takesNames) = (false, false)
    return options
  }()

  /// Opens a file of rows; nil with a finding if it has none.
  private mutating func openRows(_ index: Int, _ format: RowFormat) -> OpenRows? {
    let (name, file) = (folder.files[index], folder.file(index))
    do throws(DatasetError) {
      return try OpenRows.open(TextStream.open(file.path), format, path: name, file: file.path, options: Self.rowOptions)
    } catch {
      let line = if case .row(_, let line, _, _) = error { line } else { 0 }
      note(error, TextLocation(file: name, line: line))
      bytesDone += file.bytes
      return nil
    }
  }

  /// The text of the next row that has one; nil behind the last.
  private mutating func nextRow(_ rows: OpenRows) -> TextPiece? {
    while let input = rows.next() {
      report.rows += 1
      switch input.content {
      case .success(let text) where text.isBlank: report.note(.blankRow, input.location.description)
      case .success(let text): return TextPiece(path: input.location.description, text: text, startsDocument: true, endsDocument: true)
      case .failure(let error): note(error, input.location)
      }
    }
    return nil
  }

  private mutating func note(_ error: DatasetError, _ location: TextLocation) {
    switch error {
    case .row(_, _, _, let fault): report.note(.badRow, location.description, fault.description)
    case .notText, .parquet: report.note(.binary, location.description)
    default: report.note(unreadable: location.description, error)
    }
  }

  /// Opens a file; nil with a finding if it has no text.
  private mutating func open(_ index: Int) -> Document? {
    let (name, file) = (folder.files[index], folder.file(index))
    let data: Bytes
    do throws(DatasetError) {
      data = try FolderWalk.bytes(of: file.path, mapped: file.bytes > mappedFromBytes)
    } catch {
      report.note(unreadable: name, error)
      bytesDone += file.bytes
      return nil
    }
    guard let encoding = TextDecoding.encoding(of: data.bytes) else {
      report.note(.binary, name)
      bytesDone += file.bytes
      return nil
    }
    bytesDone += encoding.markLength
    return Document(path: name, data: data, encoding: encoding, position: encoding.markLength)
  }

  /// Cuts the next piece off the open document and closes it after the last; nil if there was nothing in it.
  private mutating func cutPiece() -> TextPiece? {
    guard let open = document else { return nil }
    let bytes = open.data.bytes
    let end = TextCut.end(in: bytes, from: open.position, about: folder.pieceBytes, encoding: open.encoding)
    let decoded = TextDecoding.decode(bytes, in: open.position..<end, as: open.encoding)
    let (starts, ends) = (open.position == open.encoding.markLength, end == bytes.count)
    bytesDone += end - open.position
    document?.position = end
    if ends { document = nil }
    if starts && ends {
      return report.accept(decoded, of: open.path)
        ? TextPiece(path: open.path, text: decoded.text, startsDocument: true, endsDocument: true) : nil
    }
    if starts {
      report.textFiles += 1
      if !open.encoding.isUTF8 { report.note(.reencoded, open.path, open.encoding.rawValue) }
    }
    return TextPiece(path: open.path, text: decoded.text, startsDocument: starts, endsDocument: ends)
  }
}

/// Chooses where a long text is cut.
enum TextCut {
  /// The end of the piece that starts at `start`: the end of the text, else after the last line end before a line that is not blank
  /// or indented, else before the last space, else between two characters. Never between CR and LF.
  static func end(in bytes: Span<UInt8>, from start: Int, about size: Int, encoding: TextEncoding) -> Int {
    let width = encoding == .utf16LittleEndian || encoding == .utf16BigEndian ? 2 : 1
    guard bytes.count - start > size else { return bytes.count }
    let limit = start + size / width * width
    func unit(_ index: Int) -> UInt32 {
      width == 1 ? UInt32(bytes[index]) : UTF16Units.unit(bytes, at: index, isLittleEndian: encoding == .utf16LittleEndian)
    }
    // A limit at the last odd byte of broken UTF-16 cannot be looked at.
    guard limit + width <= bytes.count else { return bytes.count }
    var beforeSpace: Int?
    for end in stride(from: limit, to: start, by: -width) {
      let (last, following) = (unit(end - width), unit(end))
      let followsLineEnd = last == 0x0A || last == 0x0D
      let isBlank = following == 0x20 || 0x09...0x0D ~= following
      if followsLineEnd && !isBlank { return end }
      if beforeSpace == nil && following == 0x20 && last > 0x20 { beforeSpace = end }
    }
    if let beforeSpace { return beforeSpace }
    for end in stride(from: limit, to: start, by: -width) where isBetweenCharacters(unit(end - width), unit(end), encoding) { return end }
    return limit
  }

  private static func isBetweenCharacters(_ last: UInt32, _ following: UInt32, _ encoding: TextEncoding) -> Bool {
    if last == 0x0D && following == 0x0A { return false }
    switch encoding {
    case .utf8, .utf8WithMark: return following & 0xC0 != 0x80
    case .utf16LittleEndian, .utf16BigEndian: return !(0xDC00...0xDFFF ~= following)
    case .windows1252: return true
    }
  }
}
