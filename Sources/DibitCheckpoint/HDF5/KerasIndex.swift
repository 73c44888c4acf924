internal import DibitFailure
internal import DibitFiles
internal import DibitJSON

/// The weights of a Keras model in a directory: one HDF5 file, or several that an index names.
///
/// Datasets of different shards have different paths, so a model's tensors are those of all its files together.
enum KerasIndex {
  /// The file of an unsharded model.
  static let fileName = "model.weights.h5"
  /// The index of a sharded one.
  static let indexName = "model.weights.json"

  /// The names of the HDF5 files in `directory`, in the order in which the index names them first.
  ///
  /// - Throws: ``CheckpointError`` when there is neither an index nor a file, and for an index that makes no sense or names files that
  ///   are not there.
  static func files(in directory: String) throws(CheckpointError) -> [String] {
    let names = try rethrow(as: CheckpointError.file, directoryNames(directory))
    guard names.contains(indexName) else {
      guard names.contains(fileName) else { throw .noTensors(directory: directory, found: names) }
      return [fileName]
    }
    let path = join(directory, indexName)
    let shards = try self.shards(of: try rethrow(as: CheckpointError.file, readFile(path, limit: 64 << 20)), path: path)
    for shard in shards where FileStatus(path: join(directory, shard), followingLinks: true) == nil {
      throw .missingShard(index: path, shard: shard)
    }
    return shards
  }

  /// The shards that an index with these bytes names: each group of variables is in one, or in several.
  static func shards(of bytes: [UInt8], path: String) throws(CheckpointError) -> [String] {
    let index = try rethrow(
      as: { (error: JSONError) in CheckpointError.malformedIndex(file: path, reason: error.description) },
      JSONValue(parsing: bytes, depthLimit: 16))
    guard let members = index["weight_map"]?.object?.members, !members.isEmpty else {
      throw .malformedIndex(file: path, reason: "'weight_map': an object that names groups of variables expected")
    }
    var shards: [String] = []
    var seen: Set<[UInt8]> = []
    for (group, value) in members {
      let files = value.array ?? [value]
      guard !files.isEmpty else { throw .malformedIndex(file: path, reason: "\(quoted(group)): the name of a shard expected, none found") }
      for file in files {
        guard let shard = file.string else {
          throw .malformedIndex(file: path, reason: "\(quoted(group)): the name of a shard expected, \(file.kind) found")
        }
        guard isPlainFileName(shard) else { throw .shardName(index: path, tensor: group, shard: shard) }
        if seen.insert(Array(shard.utf8)).inserted { shards.append(shard) }
      }
    }
    return shards
  }
}
