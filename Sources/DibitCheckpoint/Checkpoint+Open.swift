internal import DibitJSON

extension Checkpoint {
  /// The name of the file that places tensors in shards.
  public static let indexName = "model.safetensors.index.json"
  /// The name of the file of an unsharded checkpoint.
  public static let fileName = "model.safetensors"

  /// Opens a directory or a file.
  ///
  /// A directory holds an index and its shards, or `model.safetensors`, or exactly one other `*.safetensors`; tried in this order.
  /// A file is recognised by its contents, not by its suffix.
  ///
  /// - Throws: ``CheckpointError`` for anything missing, unreadable or inconsistent.
  /// - Complexity: O(bytes of the headers); tensors are not read.
  public static func open(_ path: String) throws(CheckpointError) -> Checkpoint {
    guard FileStatus(path: path, followingLinks: true)?.type == .directory else {
      return Checkpoint(path: path, files: [try openFile(path)])
    }
    let names = try directoryNames(path)
    if names.contains(indexName) { return Checkpoint(path: path, files: try openShards(of: path)) }
    if names.contains(fileName) { return Checkpoint(path: path, files: [try openFile(join(path, fileName))]) }
    let candidates = names.filter { $0.hasSuffix(".safetensors") && !$0.hasPrefix(".") }
    guard let only = candidates.first else { throw .noTensors(directory: path, found: names) }
    guard candidates.count == 1 else { throw .ambiguous(directory: path, candidates: candidates) }
    return Checkpoint(path: path, files: [try openFile(join(path, only))])
  }

  private static func openFile(_ path: String) throws(CheckpointError) -> (mapped: MappedFile, tensors: SafetensorsFile) {
    let mapped = try MappedFile(path: path)
    return (mapped: mapped, tensors: try SafetensorsFile(mapped.bytes, file: path))
  }

  /// Opens every shard that the index names and checks both against each other.
  private static func openShards(of directory: String) throws(CheckpointError)
    -> [(mapped: MappedFile, tensors: SafetensorsFile)]
  {
    let index = join(directory, indexName)
    let placed = try weightMap(index)
    var files: [(mapped: MappedFile, tensors: SafetensorsFile)] = []
    for (shard, names) in placed {
      guard FileStatus(path: join(directory, shard), followingLinks: true) != nil else {
        throw .missingShard(index: index, shard: shard)
      }
      let file = try openFile(join(directory, shard))
      if let absent = names.first(where: { file.tensors.entry($0) == nil }) {
        throw .notInShard(index: index, tensor: absent, shard: shard)
      }
      if file.tensors.tensors.count != names.count {
        let known = Set(names.map { Array($0.utf8) })
        for tensor in file.tensors.tensors where !known.contains(Array(tensor.name.utf8)) {
          throw .notInIndex(index: index, tensor: tensor.name, shard: shard)
        }
      }
      files.append(file)
    }
    return files
  }

  /// The shards of an index with the names of their tensors, sorted by shard.
  private static func weightMap(_ index: String) throws(CheckpointError) -> [(shard: String, names: [String])] {
    let text = try readFile(index, limit: 64 << 20)
    let json: JSONValue
    do throws(JSONError) {
      json = try JSONValue(parsing: text, depthLimit: 16)
    } catch {
      throw .malformedIndex(file: index, reason: error.description)
    }
    guard let map = json["weight_map"] else { throw .malformedIndex(file: index, reason: "the key 'weight_map' is missing") }
    guard let members = map.object?.members, !members.isEmpty else {
      throw .malformedIndex(file: index, reason: "'weight_map': an object that names tensors expected, \(map.shown) found")
    }
    var names: [[UInt8]: [String]] = [:]
    for (tensor, value) in members {
      guard let shard = value.string else {
        throw .malformedIndex(file: index, reason: "tensor \(quoted(tensor)): the name of a shard expected, \(value.shown) found")
      }
      guard isPlainFileName(shard) else { throw .shardName(index: index, tensor: tensor, shard: shard) }
      names[Array(shard.utf8), default: []].append(tensor)
    }
    return names.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
      (shard: String(decoding: $0.key, as: UTF8.self), names: $0.value)
    }
  }
}
