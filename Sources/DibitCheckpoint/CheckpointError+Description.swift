internal import DibitFailure
internal import DibitFiles

extension CheckpointError {
  /// One sentence: what, where, expected, found, and what to do where that is known.
  package var description: String {
    switch self {
    case .file(let error): "\(error)"
    case .noTensors(let directory, let found):
      "\(quoted(directory)): no file with tensors in this directory (safetensors, GGUF, HDF5, PyTorch or llama2.c); it holds \(listed(found))"
    case .missingShard(let index, let shard):
      "\(quoted(index)): the shard \(quoted(shard)) is not beside the index; download it too"
    case .malformed(let file, let fault): "\(quoted(file)): \(fault)"
    case .gguf(let file, let fault): "\(quoted(file)): \(fault)"
    case .pytorch(let file, let fault): "\(quoted(file)): \(fault)"
    case .llama2c(let file, let fault): "\(quoted(file)): \(fault)"
    case .hdf5(let file, let fault): "\(quoted(file)): \(fault)"
    case .ambiguous(let directory, let candidates):
      "\(quoted(directory)): one file with tensors expected, \(candidates.count) found (\(listed(candidates))); name one of them"
    case .malformedIndex(let file, let reason): "\(quoted(file)): \(reason)"
    case .shardName(let index, let tensor, let shard):
      "\(quoted(index)): tensor \(quoted(tensor)): a file name beside the index expected, \(quoted(shard)) found"
    case .notInShard(let index, let tensor, let shard):
      "\(quoted(index)): tensor \(quoted(tensor)) is not in its shard \(quoted(shard)); download the shards and the index together"
    case .notInIndex(let index, let tensor, let shard):
      "\(quoted(index)): the shard \(quoted(shard)) holds tensor \(quoted(tensor)), which the index does not place there"
    case .unknownTensor(let name, let path): "\(quoted(path)): there is no tensor \(quoted(name))"
    case .shapeMismatch(let tensor, let file, let expected, let found):
      "\(quoted(file)): tensor \(quoted(tensor)): shape \(shown(expected)) expected, \(shown(found)) found"
    case .duplicateTensor(let name, let files):
      "\(quoted(files.last ?? "")): tensor \(quoted(name)) is there twice; the first is in \(quoted(files.first ?? ""))"
    case .unfitView(let tensor, let file, let found, let expected):
      "\(quoted(file)): tensor \(quoted(tensor)): as many elements as \(shown(expected)) expected, shape \(shown(found)) found"
    case .rowsOutside(let tensor, let file, let rows, let count):
      "\(quoted(file)): tensor \(quoted(tensor)): rows \(rows.lowerBound)..<\(rows.upperBound) asked for, \(count) rows found"
    case .badDeclaration(let file, let tensor, let reason): "\(quoted(finalPath(file))): cannot hold tensor \(quoted(tensor)): \(reason)"
    case .wrongByteCount(let file, let tensor, let declared, let given):
      "\(quoted(finalPath(file))): tensor \(quoted(tensor)): \(declared) bytes declared, \(given) bytes given"
    }
  }
}

/// The shape, at most eight dimensions of it.
func shown(_ shape: [Int]) -> String {
  guard shape.count > 8 else { return shape.description }
  return "[" + shape.prefix(8).map(String.init).joined(separator: ", ") + ", …] of \(shape.count) dimensions"
}

/// At most eight of the names.
private func listed(_ names: [String]) -> String {
  guard !names.isEmpty else { return "nothing" }
  return names.prefix(8).map(quoted).joined(separator: ", ") + (names.count > 8 ? " and \(names.count - 8) more" : "")
}
