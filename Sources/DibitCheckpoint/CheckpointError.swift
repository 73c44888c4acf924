/// Why a checkpoint could not be read or written. Paths are as the caller gave them; offsets are bytes from the start of the file.
package enum CheckpointError: Error, Equatable, Sendable {
  // The input is not there.
  case notFound(path: String)
  case notAFile(path: String, found: String)
  case notReadable(path: String, code: Int32)
  case noTensors(directory: String, found: [String])
  case missingShard(index: String, shard: String)

  // The input is there and wrong.
  case emptyFile(path: String)
  case tooLarge(path: String, limit: Int, found: Int)
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

  // The output cannot be created.
  case outputExists(path: String)
  case badOutputName(path: String)
  case missingParent(path: String, parent: String)
  case parentNotADirectory(path: String, parent: String, found: String)
  case notWritable(path: String, code: Int32)
  case notReplaceable(path: String, found: String)
  case notOurs(path: String, expected: String)
  case outputOverInput(path: String, input: String, relation: OutputRelation)
  case noTemporaryFolder(path: String)
  case outputInUse(path: String, partial: String)
  case badDeclaration(file: String, tensor: String, reason: String)

  // Reading or writing failed on the way, or would.
  case noSpace(directory: String, needed: Int, free: Int)
  case fileTooLarge(directory: String, needed: Int, limit: Int)
  case system(operation: String, path: String, code: Int32)
  case wrongByteCount(file: String, tensor: String, declared: Int, given: Int)
}

extension CheckpointError {
  /// What kind of failure this is; the command line turns it into an exit code.
  package enum Class: Equatable, Sendable {
    /// Exit code 66.
    case missingInput
    /// Exit code 65.
    case badData
    /// Exit code 73.
    case cannotCreate
    /// Exit code 74.
    case inputOutput
  }

  /// The kind of this failure.
  package var errorClass: Class {
    switch self {
    case .notFound, .notAFile, .notReadable, .noTensors, .missingShard: .missingInput
    case .emptyFile, .tooLarge, .malformed, .gguf, .pytorch, .llama2c, .ambiguous, .malformedIndex, .shardName, .notInShard,
      .notInIndex,
      .unknownTensor,
      .duplicateTensor, .shapeMismatch, .unfitView, .rowsOutside:
      .badData
    case .outputExists, .badOutputName, .missingParent, .parentNotADirectory, .notWritable, .notReplaceable, .notOurs, .outputOverInput,
      .noTemporaryFolder, .outputInUse, .badDeclaration:
      .cannotCreate
    case .hdf5(_, let fault): fault.isOfTheSystem ? .inputOutput : .badData
    case .system, .noSpace, .fileTooLarge, .wrongByteCount: .inputOutput
    }
  }
}
