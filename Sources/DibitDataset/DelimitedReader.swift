internal import DibitFailure
internal import DibitTokenizer

/// Rows of CSV or TSV as RFC 4180 has them: a first line with the names of the columns, fields that may stand in quotes, in which quotes
/// are doubled and lines may end.
///
/// A field is quoted when it begins with a quote; elsewhere a quote is a character like any other.
struct DelimitedReader: ~Copyable, RowReader {
  private let path: String
  private let file: String
  private let options: RowOptions
  private let separator: UInt8
  private var cursor: TextCursor
  private var labels = SharedLabels()
  private var record = DelimitedRecord()
  private var columns = Columns.labelled(text: 0, label: 0)
  private var columnCount = 0
  private var labelName = ""

  private static let columnLimit = 4096

  /// The columns of the parts of an example.
  private enum Columns {
    case text(Int)
    case labelled(text: Int, label: Int)
    case conversation(prompt: Int, completion: Int)
  }

  private init(_ cursor: consuming TextCursor, path: String, file: String, separator: UInt8, options: RowOptions) {
    (self.path, self.file) = (path, file)
    self.options = options
    self.separator = separator
    self.cursor = cursor
  }

  /// A reader of `stream`, whose first line it reads; `path` is what its rows give as their location, `file` what errors call it.
  ///
  /// - Parameter separator: what stands between fields; nil takes the first of comma, semicolon and tab that the first line has.
  static func open(
    _ stream: consuming TextStream, path: String, file: String, separator: UInt8?, options: RowOptions
  ) throws(DatasetError) -> DelimitedReader {
    var cursor = TextCursor(stream)
    var header: [UInt8] = []
    _ = try cursor.appendLine(to: &header, limit: options.maximumRowBytes)
    let separator = separator ?? Self.separators.first { header.contains($0) } ?? Self.separators[0]
    var reader = DelimitedReader(cursor, path: path, file: file, separator: separator, options: options)
    do throws(RowFault) {
      guard header.count <= options.maximumRowBytes else { throw .tooLong(limit: options.maximumRowBytes) }
      try reader.readNames(header)
    } catch { throw .row(file: file, line: 1, column: nil, fault: error) }
    return reader
  }

  private static let separators = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]

  var encoding: TextEncoding { cursor.stream.encoding }
  var replacements: Int { cursor.stream.replacements }
  var bytesRead: Int { cursor.stream.bytesRead }

  mutating func next() throws(DatasetError) -> DatasetExample? {
    while try readRecord() {
      if record.isEmpty { continue }
      do throws(RowFault) { return try example() } catch { throw .row(file: file, line: record.line, column: nil, fault: error) }
    }
    return nil
  }

  private mutating func example() throws(RowFault) -> DatasetExample {
    guard record.count == columnCount else { throw .fieldCount(expected: columnCount, found: record.count) }
    switch columns {
    case .text(let text): return .labelled(LabelledExample(path: path, line: record.line, text: record[text], labels: []))
    case .labelled(let text, let label):
      guard let found = try RowOptions.checked(options.labels(in: record[label]), key: labelName) else {
        throw .unlabelled(key: labelName, text: record[text])
      }
      return .labelled(LabelledExample(path: path, line: record.line, text: record[text], labels: labels.share(found)))
    case .conversation(let prompt, let completion):
      let messages = [ChatMessage(role: .user, content: record[prompt]), ChatMessage(role: .assistant, content: record[completion])]
      guard let conversation = Conversation(path: path, line: record.line, messages: messages) else { throw .noAnswer }
      return .conversation(conversation)
    }
  }

  // MARK: Names

  /// Finds the columns in the first line, whose names hold no line ends.
  private mutating func readNames(_ header: [UInt8]) throws(RowFault) {
    var names = DelimitedRecord.names(header, separator: separator).map(Self.trimmed)
    if header.isEmpty { names = [] }
    // A comma behind the last name is common, and makes a column without a name.
    if names.count > 1, names.last == "" { names[names.count - 1] = " " }
    guard names.count <= Self.columnLimit else { throw .tooManyColumns(limit: Self.columnLimit) }
    var seen: Set<[UInt8]> = []
    for name in names where !seen.insert(Array(name.utf8)).inserted { throw .repeatedColumn(name) }
    columnCount = names.count
    record.fieldLimit = columnCount
    func find(_ asked: String?, _ known: [String]) -> Int? {
      if let asked { return names.firstIndex { $0.hasSameBytes(as: asked) } }
      for name in known { if let index = names.firstIndex(where: { $0.lowercased() == name }) { return index } }
      return nil
    }
    guard options.needsLabels else {
      guard let text = find(options.textColumn, RowOptions.textNames) else {
        throw .noText(key: options.textColumn, found: names, takesName: options.takesNames)
      }
      columns = .text(text)
      return
    }
    if options.textColumn == nil, options.labelColumn == nil, let prompt = find("prompt", []), let completion = find("completion", []) {
      columns = .conversation(prompt: prompt, completion: completion)
      return
    }
    guard let text = find(options.textColumn, RowOptions.textNames) else {
      throw .missingColumn(expected: options.textColumn.map { "a column called \(quoted($0))" } ?? "a column called text", found: names)
    }
    guard let label = find(options.labelColumn, RowOptions.labelNames) else {
      throw .missingColumn(expected: options.labelColumn.map { "a column called \(quoted($0))" } ?? "a column called label", found: names)
    }
    guard text != label else { throw .sameColumn(names[text]) }
    columns = .labelled(text: text, label: label)
    labelName = names[label]
  }

  private static func trimmed(_ name: String) -> String {
    String(decoding: Array(name.utf8.drop { $0 == 0x20 }.reversed().drop { $0 == 0x20 }.reversed()), as: UTF8.self)
  }

  // MARK: Records

  /// Reads the next record into `record`; false at the end of the file.
  ///
  /// Behind a fault the reader stands on the next line.
  private mutating func readRecord() throws(DatasetError) -> Bool {
    record.begin(line: cursor.line)
    guard try cursor.peek() != nil else { return false }
    while true {
      if try cursor.peek() == UInt8(ascii: "\"") { try readQuoted() }
      while let byte = try cursor.peek(), byte != separator, byte != 0x0A {
        cursor.advance(over: byte)
        try add(byte)
      }
      let end = try cursor.peek()
      record.endField()
      if let end { cursor.advance(over: end) }
      if end != separator { return true }
    }
  }

  /// Reads a field in quotes up to the byte behind its closing quote.
  private mutating func readQuoted() throws(DatasetError) {
    let (line, column) = (cursor.line, cursor.column + 1)
    cursor.advance(over: UInt8(ascii: "\""))
    record.hasQuotes = true
    while let byte = try cursor.peek() {
      cursor.advance(over: byte)
      guard byte == UInt8(ascii: "\"") else {
        try add(byte)
        continue
      }
      let next = try cursor.peek()
      if next == UInt8(ascii: "\"") {
        cursor.advance(over: byte)
        try add(byte)
      } else {
        if let next, next != separator, next != 0x0A {
          let column = cursor.column + 1
          try cursor.skipLine()
          throw .row(file: file, line: record.line, column: column, fault: .afterQuote(found: next))
        }
        return
      }
    }
    // The cursor stands on a line of its own behind a last line end.
    let lines = cursor.line - line - (cursor.column == 0 ? 1 : 0)
    throw .row(file: file, line: line, column: column, fault: .openQuote(linesBelow: lines))
  }

  private mutating func add(_ byte: UInt8) throws(DatasetError) {
    guard record.byteCount < options.maximumRowBytes else {
      try cursor.skipLine()
      throw .row(file: file, line: record.line, column: nil, fault: .tooLong(limit: options.maximumRowBytes))
    }
    record.append(byte)
  }
}

/// The fields of a record, one behind the other.
struct DelimitedRecord {
  private var bytes: [UInt8] = []
  private var ends: [Int] = []
  /// The number of fields.
  private(set) var count = 0
  /// Fields beyond it are counted, and no more.
  var fieldLimit = Int.max
  /// The line on which the record begins.
  private(set) var line = 1
  var hasQuotes = false

  /// The bytes of all fields.
  var byteCount: Int { bytes.count }
  /// True for a line with nothing on it.
  var isEmpty: Bool { count <= 1 && bytes.isEmpty && !hasQuotes }

  /// A field.
  subscript(index: Int) -> String {
    String(decoding: bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]], as: UTF8.self)
  }

  mutating func begin(line: Int) {
    self.line = line
    hasQuotes = false
    count = 0
    bytes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }

  mutating func append(_ byte: UInt8) { bytes.append(byte) }

  mutating func endField() {
    count += 1
    if count <= fieldLimit { ends.append(bytes.count) }
  }

  /// The fields of a first line; a quote that is not closed ends with it.
  static func names(_ line: [UInt8], separator: UInt8) -> [String] {
    var record = DelimitedRecord()
    var (index, isQuoted, isStart) = (0, false, true)
    let quote = UInt8(ascii: "\"")
    while index < line.count {
      let byte = line[index]
      index += 1
      if byte == quote, isStart || isQuoted {
        if isQuoted, index < line.count, line[index] == quote {
          record.append(quote)
          index += 1
        } else {
          isQuoted.toggle()
        }
        isStart = false
      } else if byte == separator, !isQuoted {
        record.endField()
        isStart = true
      } else {
        record.append(byte)
        isStart = false
      }
    }
    record.endField()
    return (0..<record.count).map { record[$0] }
  }
}
