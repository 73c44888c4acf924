internal import DibitFiles
package import DibitTensor

/// The facts that a checkpoint gives about one tensor.
package struct TensorInfo: Equatable, Sendable {
  /// The type of its elements as they are read; F32 for tensors that are stored in quantised blocks.
  package let dtype: DType
  /// The dimensions, row-major; empty for a scalar.
  package let shape: [Int]
  /// The storage of the elements in the file, in the format's own words: `F16`, `Q4_K`.
  package let storage: String
  /// The bytes that the elements take in the file.
  package let byteCount: Int
  /// The path of the file that holds it.
  package let file: String

  /// The number of elements.
  package var count: Int { rows * columns }

  /// The first dimension of a tensor with two or more; otherwise 1.
  package var rows: Int { shape.count >= 2 ? shape[0] : 1 }

  /// The product of the other dimensions: the length of one row.
  package var columns: Int { (shape.count >= 2 ? shape.dropFirst() : shape[...]).reduce(1, *) }
}

/// Named tensors from one or more files of any known format. Opening reads headers only; tensors are read where they are used.
///
/// Names are compared by their UTF-8 bytes. Nothing is known here about what the tensors mean.
package struct Checkpoint: Sendable {
  /// The path it was opened with.
  package let path: String
  /// The format of its files: "safetensors", "GGUF", …
  package let format: CheckpointFormat
  /// The strings stored beside the tensors of the first file.
  package let metadata: [(key: String, value: String)]
  /// The names of all tensors: file by file, each in the order of its data.
  package let tensorNames: [String]
  let containers: [any TensorContainer]
  private let locations: [[UInt8]: Location]
  /// The state shared by views that need whole tensors.
  let whole = WholeTensor()

  /// The location of a tensor, and its description as seen from here.
  struct Location: Sendable {
    let container: Int
    let index: Int
    let info: TensorInfo
    /// Nil when the tensor is read as it is stored.
    let order: ElementOrder?
  }

  init(path: String, format: CheckpointFormat, containers: [any TensorContainer]) throws(CheckpointError) {
    var locations: [(name: String, location: Location)] = []
    for (number, container) in containers.enumerated() {
      for (index, tensor) in container.tensors.enumerated() {
        let info = TensorInfo(
          dtype: tensor.dtype, shape: tensor.shape, storage: tensor.storage, byteCount: tensor.byteCount, file: container.path)
        locations.append((name: tensor.name, location: Location(container: number, index: index, info: info, order: nil)))
      }
    }
    try self.init(path: path, format: format, containers: containers, locations: locations)
  }

  init(path: String, format: CheckpointFormat, containers: [any TensorContainer], locations: [(name: String, location: Location)])
    throws(CheckpointError)
  {
    self.path = path
    self.format = format
    self.containers = containers
    metadata = containers.first?.metadata ?? []
    tensorNames = locations.map(\.name)
    var table: [[UInt8]: Location] = [:]
    table.reserveCapacity(locations.count)
    for (name, location) in locations {
      if let other = table.updateValue(location, forKey: Array(name.utf8)) {
        throw .duplicateTensor(name, files: [other.info.file, location.info.file])
      }
    }
    self.locations = table
  }

  /// The tensors as the files describe them, in the order of ``tensorNames`` of a checkpoint that was just opened.
  package var tensors: [StoredTensor] { containers.flatMap(\.tensors) }

  /// The paths of its files.
  package var filePaths: [String] { containers.map(\.path) }

  /// The bytes of its files.
  package var fileBytes: Int { filePaths.reduce(0) { $0 + (FileStatus(path: $1, followingLinks: true)?.size ?? 0) } }

  /// Returns the facts known about a tensor, or nil when there is none of this name.
  package func info(_ name: String) -> TensorInfo? { locations[Array(name.utf8)]?.info }

  /// The stored bytes of a tensor whose elements lie in the file as they are: row-major, little-endian; nil for all others.
  ///
  /// - Throws: ``CheckpointError/unknownTensor(_:path:)``.
  package func bytes(_ name: String) throws(CheckpointError) -> Bytes? {
    let location = try location(of: name)
    return location.order == nil ? containers[location.container].plainBytes(location.index) : nil
  }

  /// Lets the system forget the pages of a tensor that was processed; it can still be read again.
  package func release(_ name: String) {
    guard let info = info(name) else { return }
    release(name, rows: 0..<info.rows)
  }

  /// Lets the system forget the pages of some rows of a tensor; see ``release(_:)``.
  package func release(_ name: String, rows: Range<Int>) {
    guard let location = locations[Array(name.utf8)] else { return }
    let rows = rows.clamped(to: 0..<location.info.rows)
    // A row of another order lies all over the stored tensor: it goes when the last one was read.
    guard let order = location.order else { return containers[location.container].release(location.index, rows: rows) }
    guard rows.upperBound == location.info.rows else { return }
    containers[location.container].release(location.index, rows: 0..<order.storedRows)
    whole.clear()
  }

  func location(of name: String) throws(CheckpointError) -> Location {
    guard let location = locations[Array(name.utf8)] else { throw .unknownTensor(name, path: path) }
    return location
  }
}
