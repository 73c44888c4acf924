public import DibitTensor

/// What a checkpoint says about one tensor.
public struct TensorInfo: Equatable, Sendable {
  /// The type of its elements.
  public let dtype: DType
  /// The dimensions, row-major; empty for a scalar.
  public let shape: [Int]
  /// The path of the file that holds it.
  public let file: String

  /// The number of elements.
  public var count: Int { rows * columns }

  /// The first dimension of a tensor with two or more; otherwise 1.
  public var rows: Int { shape.count >= 2 ? shape[0] : 1 }

  /// The product of the other dimensions: the length of one row.
  public var columns: Int { (shape.count >= 2 ? shape.dropFirst() : shape[...]).reduce(1, *) }
}

/// Named tensors from one or more mapped files. Opening reads headers only; tensors are read where they are used.
///
/// Names are compared by their UTF-8 bytes. Nothing is known here about what the tensors mean.
public struct Checkpoint: Sendable {
  /// The path it was opened with.
  public let path: String
  /// The strings stored beside the tensors of the first file.
  public let metadata: [(key: String, value: String)]
  /// The names of all tensors: file by file, each in the order of its data.
  public let tensorNames: [String]
  let files: [(mapped: MappedFile, tensors: SafetensorsFile)]
  private let places: [[UInt8]: (file: Int, entry: TensorEntry)]

  init(path: String, files: [(mapped: MappedFile, tensors: SafetensorsFile)]) {
    self.path = path
    self.files = files
    metadata = files.first?.tensors.metadata ?? []
    var names: [String] = []
    var places: [[UInt8]: (file: Int, entry: TensorEntry)] = [:]
    for (index, file) in files.enumerated() {
      for tensor in file.tensors.tensors {
        names.append(tensor.name)
        places[Array(tensor.name.utf8)] = (file: index, entry: tensor)
      }
    }
    tensorNames = names
    self.places = places
  }

  /// The paths of its files.
  public var filePaths: [String] { files.map(\.mapped.path) }

  /// What is known about a tensor, or nil when there is none of this name.
  public func info(_ name: String) -> TensorInfo? {
    places[Array(name.utf8)].map { TensorInfo(dtype: $0.entry.dtype, shape: $0.entry.shape, file: files[$0.file].mapped.path) }
  }

  /// The stored bytes of a tensor.
  ///
  /// - Throws: ``CheckpointError/unknownTensor(_:path:)``.
  public func bytes(_ name: String) throws(CheckpointError) -> Bytes {
    let place = try place(of: name)
    return files[place.file].tensors.bytes(of: place.entry)
  }

  /// Lets the system forget the pages of a tensor that was processed; it can still be read again.
  public func release(_ name: String) {
    guard let place = places[Array(name.utf8)] else { return }
    files[place.file].mapped.discard(place.entry.range)
  }

  /// Lets the system forget the pages of some rows of a tensor; see ``release(_:)``.
  public func release(_ name: String, rows: Range<Int>) {
    guard let place = places[Array(name.utf8)], let info = info(name) else { return }
    let rows = rows.clamped(to: 0..<info.rows)
    let stride = info.columns * info.dtype.byteCount
    let begin = place.entry.range.lowerBound
    files[place.file].mapped.discard(begin + rows.lowerBound * stride..<begin + rows.upperBound * stride)
  }

  func place(of name: String) throws(CheckpointError) -> (file: Int, entry: TensorEntry) {
    guard let place = places[Array(name.utf8)] else { throw .unknownTensor(name, path: path) }
    return place
  }
}
