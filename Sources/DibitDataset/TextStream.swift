internal import DibitFailure
internal import DibitCheckpoint
internal import DibitFiles

/// The text of a file of any size, piece by piece: well-formed UTF-8 without a byte order mark, every line ended by LF.
///
/// The encoding is found as for whole files, by a first pass; UTF-16 is known by its mark. Memory is a few pieces.
struct TextStream: ~Copyable {
  /// The encoding of the file.
  let encoding: TextEncoding
  /// The number of bytes of the file that have been decoded, its mark among them.
  private(set) var bytesRead = 0
  private let path: String
  private var source: ByteSource
  private let pieceBytes: Int
  private var output = UTF8Output(capacity: 0)
  /// The last bytes of a piece of UTF-16 that are no whole character.
  private var rest: [UInt8] = []
  /// A piece that was looked at and is still to be given.
  private var seen: [UInt8]?

  private init(_ path: String, _ source: consuming ByteSource, encoding: TextEncoding, pieceBytes: Int) {
    self.pieceBytes = pieceBytes
    self.path = path
    self.source = source
    self.encoding = encoding
  }

  /// Opens a file and finds its encoding.
  ///
  /// - Throws: ``DatasetError`` if it cannot be read or is no text.
  static func open(_ path: String, pieceBytes: Int = 1 << 18) throws(DatasetError) -> TextStream {
    do throws(FileError) {
      var source = ByteSource(try SequentialFile(path))
      if let encoding = try survey(&source, pieceBytes: max(pieceBytes, 3)) {
        return TextStream(path, ByteSource(try SequentialFile(path)), encoding: encoding, pieceBytes: pieceBytes)
      }
    } catch { throw DatasetError(error, path) }
    throw .noRows(at: path)
  }

  /// The text of bytes in memory, which errors call `name`.
  static func open(bytes: [UInt8], named name: String) throws(DatasetError) -> TextStream {
    guard let encoding = TextDecoding.encoding(of: bytes.span) else { throw .notText(path: name) }
    return TextStream(name, ByteSource(bytes), encoding: encoding, pieceBytes: 1 << 18)
  }

  /// The text of standard input, which can be read only once: UTF-16 where a mark says so, otherwise UTF-8.
  static func standardInput(isStopped: @escaping @Sendable () -> Bool) throws(DatasetError) -> TextStream {
    let name = TextLocation.standardInput
    var start: [UInt8] = []
    do throws(FileError) {
      while start.count < 3 {
        let bytes = try StandardInput.read(upTo: 1 << 16, isStopped: isStopped)
        if bytes.isEmpty { break }
        start += bytes
      }
    } catch { throw DatasetError(error, name) }
    let encoding: TextEncoding =
      start.starts(with: [0xFF, 0xFE])
      ? .utf16LittleEndian
      : start.starts(with: [0xFE, 0xFF]) ? .utf16BigEndian : start.starts(with: [0xEF, 0xBB, 0xBF]) ? .utf8WithMark : .utf8
    return TextStream(name, ByteSource(standardInputAfter: start, isStopped: isStopped), encoding: encoding, pieceBytes: 1 << 18)
  }

  /// Bytes or code units that stood for no character.
  var replacements: Int { output.replacements }

  /// The first piece of the text, which `next` gives again; before the first call of that only.
  mutating func start() throws(DatasetError) -> [UInt8] {
    if seen == nil { seen = try next() }
    return seen ?? []
  }

  /// The next bytes, nil at the end; never none.
  mutating func next() throws(DatasetError) -> [UInt8]? {
    if let piece = seen {
      seen = nil
      return piece
    }
    while true {
      var bytes = try rethrow(as: DatasetError.init, at: path, source.read(upTo: pieceBytes))
      bytesRead += bytes.count
      guard !bytes.isEmpty || !rest.isEmpty else { return nil }
      let isLast = bytes.isEmpty
      let mark = max(0, min(bytes.count, encoding.markLength - (bytesRead - bytes.count)))
      bytes.removeFirst(mark)
      try decode(bytes, isLast: isLast)
      let piece = output.take()
      if !piece.isEmpty { return piece }
    }
  }

  private mutating func decode(_ bytes: [UInt8], isLast: Bool) throws(DatasetError) {
    switch encoding {
    case .utf8, .utf8WithMark: for byte in bytes { output.append(byte: byte) }
    case .windows1252: for byte in bytes { output.append(scalar: Windows1252.scalar(of: byte)) }
    case .utf16LittleEndian, .utf16BigEndian:
      let units = rest + bytes
      let isLittleEndian = encoding == .utf16LittleEndian
      var end = isLast ? units.count : units.count & ~1
      // The first half of a character that two units make waits for the other.
      if !isLast, end >= 2, 0xD800...0xDBFF ~= UTF16Units.unit(units.span, at: end - 2, isLittleEndian: isLittleEndian) { end -= 2 }
      var reader = UTF16Units(range: 0..<end, isLittleEndian: isLittleEndian)
      while let scalar = reader.next(in: units.span) {
        guard scalar != 0 else { throw .notText(path: path) }
        output.append(scalar: scalar)
      }
      rest = Array(units[end...])
    }
  }

  /// The encoding of a file; nil if it is binary. UTF-16 is not looked at beyond its mark.
  private static func survey(_ source: inout ByteSource, pieceBytes: Int) throws(FileError) -> TextEncoding? {
    var survey = ByteSurvey()
    var start: [UInt8] = []
    while true {
      let bytes = try source.read(upTo: pieceBytes)
      if start.isEmpty { start = Array(bytes.prefix(3)) }
      if bytes.isEmpty || start.starts(with: [0xFF, 0xFE]) || start.starts(with: [0xFE, 0xFF]) { break }
      survey.add(bytes.span)
    }
    if start.starts(with: [0xFF, 0xFE]) { return .utf16LittleEndian }
    if start.starts(with: [0xFE, 0xFF]) { return .utf16BigEndian }
    return survey.encoding(hasMark: start == [0xEF, 0xBB, 0xBF])
  }
}

/// A file that is read from its beginning, or bytes that are read as if they were one, with standard input behind them or without.
private struct ByteSource: ~Copyable {
  private var file: SequentialFile?
  private var bytes: ArraySlice<UInt8> = []
  private var isStopped: (@Sendable () -> Bool)?

  init(_ file: consuming SequentialFile) { self.file = .some(file) }

  init(_ bytes: [UInt8]) {
    self.bytes = bytes[...]
    file = nil
  }

  init(standardInputAfter bytes: [UInt8], isStopped: @escaping @Sendable () -> Bool) {
    self.init(bytes)
    self.isStopped = isStopped
  }

  mutating func read(upTo count: Int) throws(FileError) -> [UInt8] {
    if let read = try file?.read(upTo: count) { return read }
    if bytes.isEmpty, let isStopped { return try StandardInput.read(upTo: count, isStopped: isStopped) }
    let read = Array(bytes.prefix(count))
    bytes = bytes.dropFirst(count)
    return read
  }
}

extension DatasetError {
  /// The error for a file that holds no text, with what it is.
  static func noText(at path: String) -> DatasetError {
    let kind = FileKind.ofFile(path).flatMap { $0.isReadable ? nil : $0 }
    return .notText(path: path, found: kind?.description)
  }

  /// The error for a file without text where rows would do.
  static func noRows(at path: String) -> DatasetError {
    FileKind.ofFile(path) == .parquet ? .parquet(path: path) : noText(at: path)
  }

  /// The error for a file that a system call failed on.
  init(_ error: FileError, _ path: String) {
    switch error {
    case .notFound: self = .missing(path: path)
    case .notAFile(_, let found): self = .notAFile(path: path, found: found.description)
    case .tooLarge(_, let limit, let found): self = .tooLarge(path: path, limit: limit, found: found)
    default: self = .unreadableFile(path: path, reason: error.unreadableReason)
    }
  }
}
