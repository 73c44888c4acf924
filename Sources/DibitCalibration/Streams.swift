internal import BasicContainers
internal import DibitFiles
internal import DibitTensor

/// The residual streams of batches of text, `[n, C]` each, in memory or in a file.
///
/// A read or a write of the file that fails is kept in ``StreamSpill/failure``, and what is made of the streams then means nothing.
struct Streams: ~Copyable {
  private var matrices = UniqueArray<Matrix>()
  private let spill: StreamSpill?
  private var file: ScratchFile?
  private let rows: [Int]
  private let columns: Int

  /// Streams of so many rows each, which are to be written before they are read.
  init(rows: [Int], columns: Int, in spill: StreamSpill?) {
    (self.rows, self.columns, self.spill) = (rows, columns, spill)
    if let spill {
      file = spill.file(bytes: Self.byteCount(rows: rows, columns: columns))
    } else {
      for count in rows { matrices.append(Matrix(rows: count, columns: columns)) }
    }
  }

  /// Bytes of such streams.
  static func byteCount(rows: [Int], columns: Int) -> Int { rows.reduce(0, +) * columns * MemoryLayout<Float>.stride }

  /// Gives `body` the stream of a batch.
  func read<Result>(_ batch: Int, _ body: (borrowing Matrix) -> Result) -> Result {
    guard let spill else { return body(matrices[batch]) }
    var matrix = Matrix(rows: rows[batch], columns: columns)
    do throws(FileError) { try file?.read(into: &matrix, at: offset(of: batch)) } catch { spill.fail(error) }
    return body(matrix)
  }

  /// Overwrites the stream of a batch.
  mutating func write(_ batch: Int, _ stream: borrowing Matrix) {
    guard let spill else { return matrices[batch].copy(stream) }
    do throws(FileError) { try file?.write(stream, at: offset(of: batch)) } catch { spill.fail(error) }
  }

  /// Streams of their own with the same elements.
  func copied() -> Streams {
    var copy = Streams(rows: rows, columns: columns, in: spill)
    for batch in rows.indices { read(batch) { copy.write(batch, $0) } }
    return copy
  }

  private func offset(of batch: Int) -> Int { Self.byteCount(rows: Array(rows[..<batch]), columns: columns) }
}

/// The files of streams that would take too much memory.
final class StreamSpill {
  private let path: String
  /// The first failure of any of them.
  private(set) var failure: FileError?

  /// Files that are at `path` for a moment, each until its name is gone.
  init(path: String) { self.path = path }

  /// A file for so many bytes; nil where it cannot be had.
  func file(bytes: Int) -> ScratchFile? {
    do throws(FileError) { return try ScratchFile(path: path, bytes: bytes) } catch {
      fail(error)
      return nil
    }
  }

  /// Keeps a failure.
  func fail(_ error: FileError) { failure = failure ?? error }
}
