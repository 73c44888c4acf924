/// A file of rows, each of which is an example: what CSV, TSV and JSONL have in common.
///
/// Rows are read one by one, so that a file of any size takes the memory of its longest row. A reader may go on behind a faulty row.
protocol RowReader: ~Copyable {
  /// The next row, nil at the end. Empty lines are passed by.
  ///
  /// - Throws: ``DatasetError/row(file:line:column:fault:)`` for a row that is no example, others when the file cannot be read on.
  mutating func next() throws(DatasetError) -> DatasetExample?

  /// The encoding of the file, and the number of bytes that stood for no character so far.
  var encoding: TextEncoding { get }
  var replacements: Int { get }
  /// The number of bytes of the file that have been read.
  var bytesRead: Int { get }
}

/// The bytes of a text one by one, with the line they lie on.
struct TextCursor: ~Copyable {
  private(set) var stream: TextStream
  private var piece: [UInt8] = []
  private var position = 0
  /// The line of the next byte, from 1.
  private(set) var line = 1
  /// Bytes before the next one on its line.
  private(set) var column = 0

  init(_ stream: consuming TextStream) { self.stream = stream }

  /// The next byte, which stays; nil at the end.
  @inline(__always)
  mutating func peek() throws(DatasetError) -> UInt8? {
    if position == piece.count {
      guard let next = try stream.next() else { return nil }
      (piece, position) = (next, 0)
    }
    return piece[position]
  }

  /// Passes the byte that `peek` gave.
  @inline(__always)
  mutating func advance(over byte: UInt8) {
    position += 1
    column += 1
    if byte == 0x0A {
      line += 1
      column = 0
    }
  }

  /// Adds the bytes up to the end of the line to `line` and passes that; false at the end of the text. At most `limit` bytes are added,
  /// and what is more is passed by: `line` is then longer by one.
  mutating func appendLine(to bytes: inout [UInt8], limit: Int) throws(DatasetError) -> Bool {
    guard try peek() != nil else { return false }
    while try peek() != nil {
      let end = piece[position...].firstIndex(of: 0x0A)
      let part = piece[position..<(end ?? piece.count)]
      bytes.append(contentsOf: part.prefix(limit + 1 - bytes.count))
      position = end.map { $0 + 1 } ?? piece.count
      if end != nil { break }
    }
    line += 1
    column = 0
    return true
  }

  /// Takes the next line that is not blank into `bytes`, and tells its number; nil behind the last.
  ///
  /// - Throws: `RowFault.tooLong` for a line of `file` of more than `limit` bytes; others follow.
  mutating func nextRow(into bytes: inout [UInt8], limit: Int, file: String) throws(DatasetError) -> Int? {
    while true {
      let line = line
      bytes.removeAll(keepingCapacity: true)
      guard try appendLine(to: &bytes, limit: limit) else { return nil }
      guard bytes.count <= limit else { throw .row(file: file, line: line, column: nil, fault: .tooLong(limit: limit)) }
      if !bytes.allSatisfy({ $0 == 0x20 || 0x09...0x0D ~= $0 }) { return line }
    }
  }

  /// Passes what is left of the line, to go on behind a fault.
  mutating func skipLine() throws(DatasetError) {
    var nothing: [UInt8] = []
    _ = try appendLine(to: &nothing, limit: -1)
  }
}
