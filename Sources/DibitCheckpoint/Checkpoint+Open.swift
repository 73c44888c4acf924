internal import DibitFailure
internal import DibitFiles
package import DibitTensor

extension Checkpoint {
  /// The name of the file of an unsharded checkpoint.
  package static let fileName = "model.safetensors"

  /// Files that hold a whole checkpoint, the one to prefer first.
  private static let wholeNames = [fileName, "pytorch_model.bin", KerasIndex.fileName]

  /// Files beside a checkpoint that hold tensors or pickles, but not its weights.
  private static let otherNames: Set<String> = [
    "training_args.bin", "optimizer.pt", "optimizer.bin", "scheduler.pt", "scaler.pt", "rng_state.pth", "tokenizer.bin",
    "adapter_model.safetensors",
    "adapter_model.bin",
  ]

  /// Opens a directory or a file of any format in ``CheckpointFormat``.
  ///
  /// A directory holds an index and its shards, or a file with one of the usual names, or exactly one file with tensors; tried in
  /// this order. Files are recognised by their contents, never by their suffix.
  ///
  /// - Throws: ``CheckpointError`` for anything missing, unreadable or inconsistent.
  /// - Complexity: O(bytes of the headers); tensors are not read.
  package static func open(_ path: String) throws(CheckpointError) -> Checkpoint {
    guard FileStatus(path: path, followingLinks: true)?.type == .directory else { return try single(path, file: path) }
    let names = try rethrow(as: CheckpointError.file, directoryNames(path))
    for index in ShardIndex.names where names.contains(index) {
      let (format, containers) = try openShards(of: path, index: index)
      return try Checkpoint(path: path, format: format, containers: containers)
    }
    if names.contains(KerasIndex.indexName) {
      let containers = try KerasIndex.files(in: path).map { file throws(CheckpointError) in try openFile(join(path, file)).1 }
      return try Checkpoint(path: path, format: .hdf5, containers: containers)
    }
    return try single(path, file: try onlyFile(of: path, names))
  }

  /// The file that holds all of a checkpoint: `path` itself, or the one of that directory that ``open(_:)`` reads; nil where that reads
  /// several, or fails to find one.
  package static func wholeFile(of path: String) -> String? {
    guard FileStatus(path: path, followingLinks: true)?.type == .directory else { return path }
    guard let names = try? directoryNames(path), !names.contains(KerasIndex.indexName), !ShardIndex.names.contains(where: names.contains)
    else { return nil }
    return try? onlyFile(of: path, names)
  }

  /// The file with tensors of a directory without an index.
  private static func onlyFile(of path: String, _ names: [String]) throws(CheckpointError) -> String {
    for name in wholeNames where names.contains(name) { return join(path, name) }
    var candidates: [String] = []
    for name in names where !name.hasPrefix(".") && !otherNames.contains(name) {
      if holdsTensors(join(path, name)) { candidates.append(name) }
    }
    guard let only = candidates.first else { throw .noTensors(directory: path, found: names) }
    guard candidates.count == 1 else { throw .ambiguous(directory: path, candidates: candidates) }
    return join(path, only)
  }

  private static func single(_ path: String, file: String) throws(CheckpointError) -> Checkpoint {
    let (format, container) = try openFile(file)
    return try Checkpoint(path: path, format: format, containers: [container])
  }

  /// Opens a file as what its first bytes say that it is.
  private static func openFile(_ path: String) throws(CheckpointError) -> (CheckpointFormat, any TensorContainer) {
    try open(try rethrow(as: CheckpointError.file, MappedFile(path: path)))
  }

  /// Opens bytes in memory as if they were a file called `name`.
  package static func open(bytes: Bytes, named name: String) throws(CheckpointError) -> Checkpoint {
    let (format, container) = try open(MappedFile(memory: bytes, named: name))
    return try Checkpoint(path: name, format: format, containers: [container])
  }

  private static func open(_ mapped: MappedFile) throws(CheckpointError) -> (CheckpointFormat, any TensorContainer) {
    switch format(of: mapped.bytes) {
    case .gguf: return (.gguf, try GGUFContainer(mapped))
    case .hdf5: return (.hdf5, try HDF5Container(path: mapped.path))
    case .pytorch: return (.pytorch, try PyTorchContainer(mapped))
    case .llama2c: return (.llama2c, try Llama2CContainer(mapped))
    // What is nothing else is reported as a broken safetensors file, or as what it is instead of one.
    case .safetensors, nil: return (.safetensors, try SafetensorsContainer(mapped))
    }
  }

  /// The format of a file that holds tensors, or nil for any other file.
  private static func format(of bytes: Bytes) -> CheckpointFormat? {
    switch FileKind.recognise(bytes) {
    case .safetensors: .safetensors
    case .gguf: .gguf
    case .hdf5: .hdf5
    case .pytorch: .pytorch
    case .llama2c: .llama2c
    default: nil
    }
  }

  /// The usual suffixes of files with tensors: a broken one must be named, not overlooked.
  private static let suffixes = [".safetensors", ".gguf", ".h5", ".hdf5", ".pt", ".pth"]

  /// Returns true for a file that holds tensors, or should.
  private static func holdsTensors(_ path: String) -> Bool {
    if suffixes.contains(where: { path.hasSuffix($0) }) { return true }
    guard FileStatus(path: path, followingLinks: true)?.type == .regular, let mapped = try? MappedFile(path: path) else { return false }
    return format(of: mapped.bytes) != nil
  }

  /// Opens every shard that the index names and checks both against each other.
  private static func openShards(of directory: String, index name: String) throws(CheckpointError) -> (
    CheckpointFormat, [any TensorContainer]
  ) {
    let index = join(directory, name)
    var containers: [any TensorContainer] = []
    var format = CheckpointFormat.safetensors
    for (shard, names) in try ShardIndex.read(index) {
      guard FileStatus(path: join(directory, shard), followingLinks: true) != nil else {
        throw .missingShard(index: index, shard: shard)
      }
      let (found, container) = try openFile(join(directory, shard))
      format = found
      let present = Set(container.tensors.map { Array($0.name.utf8) })
      if let absent = names.first(where: { !present.contains(Array($0.utf8)) }) {
        throw .notInShard(index: index, tensor: absent, shard: shard)
      }
      if present.count != names.count {
        let known = Set(names.map { Array($0.utf8) })
        for tensor in container.tensors where !known.contains(Array(tensor.name.utf8)) {
          throw .notInIndex(index: index, tensor: tensor.name, shard: shard)
        }
      }
      containers.append(container)
    }
    return (format, containers)
  }
}
