internal import DibitFailure
internal import DibitCheckpoint
internal import DibitFiles

/// Reads the texts of ``TextInputs``. Copies share a position within rows.
package struct TextInputIterator: IteratorProtocol {
  /// The number of ``TextInputs/bytes`` that have been read.
  package var bytesRead: Int { bytesDone + (rows?.bytesRead ?? 0) }

  /// Files below folders that were skipped because they are no text.
  package private(set) var skippedFiles = 0

  private let inputs: TextInputs
  private var position = 0
  private var bytesDone = 0
  private var rows: OpenRows?

  init(_ inputs: TextInputs) { self.inputs = inputs }

  /// The next text or fault; nil behind the last, and once ``TextInputOptions/isStopped`` says so.
  package mutating func next() -> TextInput? {
    while !inputs.options.isStopped() {
      if let rows {
        if let input = rows.next() { return input }
        advance()
      }
      guard position < inputs.entries.count else { return nil }
      switch inputs.entries[position] {
      case .fault(let path, let error): return single(path, .failure(error))
      case .file(let path, _, let isFound):
        if let input = open(path, isStandardInput: false) {
          guard isFound, case .failure(.notText) = input.content else { return input }
          skippedFiles += 1
        }
      case .standardInput: if let input = open(TextLocation.standardInput, isStandardInput: true) { return input }
      }
    }
    return nil
  }

  /// Advances behind the entry.
  private mutating func advance() {
    bytesDone += inputs.entries[position].bytes ?? 0
    position += 1
    rows = nil
  }

  /// The only input of the entry.
  private mutating func single(_ path: String, _ content: Result<String, DatasetError>) -> TextInput {
    advance()
    return TextInput(location: TextLocation(file: path), content: content)
  }

  /// The one text of a file, or nil when its rows are to be read one by one.
  private mutating func open(_ path: String, isStandardInput: Bool) -> TextInput? {
    let options = inputs.options
    let format = options.rowFormat(of: path)
    do throws(DatasetError) {
      guard format != nil || options.format == .lines else {
        return single(path, .success(try Self.text(of: path, isStandardInput: isStandardInput, options)))
      }
      let stream = try isStandardInput ? TextStream.standardInput(isStopped: options.isStopped) : TextStream.open(path)
      rows = try OpenRows.open(stream, format, path: path, file: path, options: options.rows)
      return nil
    } catch {
      // A table of any size is told for what it is.
      if case .tooLarge = error, !isStandardInput, FileKind.ofFile(path) == .parquet { return single(path, .failure(.parquet(path: path))) }
      return single(path, .failure(error))
    }
  }

  private static func text(of path: String, isStandardInput: Bool, _ options: TextInputOptions) throws(DatasetError) -> String {
    let bytes = try rethrow(
      as: DatasetError.init, at: path, isStandardInput ? standardInput(path, options) : readFile(path, limit: options.maximumTextBytes))
    guard let decoded = TextDecoding.decode(bytes) else { throw .noRows(at: path) }
    return decoded.text
  }

  private static func standardInput(_ path: String, _ options: TextInputOptions) throws(FileError) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let read = try StandardInput.read(upTo: 1 << 16, isStopped: options.isStopped)
      if read.isEmpty { return bytes }
      bytes += read
      guard bytes.count <= options.maximumTextBytes else {
        throw .tooLarge(path: path, limit: options.maximumTextBytes, found: bytes.count)
      }
    }
  }
}
