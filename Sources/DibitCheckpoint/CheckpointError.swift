package import DibitFailure
package import DibitFiles

/// The reasons for which a checkpoint could not be read or written. Paths are as the caller gave them; offsets are bytes from the start of
/// the file.
package enum CheckpointError: EngineError, Equatable {
  /// A file could not be read or written.
  case file(FileError)
  // There are no tensors.
  case noTensors(directory: String, found: [String])
  case missingShard(index: String, shard: String)

  // The input is there and wrong.
  case malformed(file: String, SafetensorsFault)
  case gguf(file: String, GGUFFault)
  case pytorch(file: String, PyTorchFault)
  case llama2c(file: String, Llama2CFault)
  case hdf5(file: String, HDF5Fault)
  case ambiguous(directory: String, candidates: [String])
  case malformedIndex(file: String, reason: String)
  case shardName(index: String, tensor: String, shard: String)
  case notInShard(index: String, tensor: String, shard: String)
  case notInIndex(index: String, tensor: String, shard: String)
  case unknownTensor(String, path: String)
  case shapeMismatch(tensor: String, file: String, expected: [Int], found: [Int])
  case duplicateTensor(String, files: [String])
  case unfitView(tensor: String, file: String, found: [Int], expected: [Int])
  case rowsOutside(tensor: String, file: String, rows: Range<Int>, count: Int)

  // A file of tensors cannot be written.
  case badDeclaration(file: String, tensor: String, reason: String)
  case wrongByteCount(file: String, tensor: String, declared: Int, given: Int)

  /// The kind of failure.
  package var kind: FailureKind {
    switch self {
    case .file(let error): error.kind
    case .noTensors, .missingShard: .notFound
    case .badDeclaration: .cannotCreate
    case .hdf5(_, let fault): fault.isOfTheSystem ? .inputOutput : .badData
    case .wrongByteCount: .inputOutput
    default: .badData
    }
  }

  /// The failure of a file.
  package var cause: (any EngineError)? { if case .file(let error) = self { error } else { nil } }
}
