internal import DibitFailure
internal import DibitFiles
internal import DibitJSON

/// The file that says which shard holds which tensor.
enum ShardIndex {
  /// The names that such files have.
  static let names = ["model.safetensors.index.json", "pytorch_model.bin.index.json"]

  /// The shards of an index with the names of their tensors, sorted by shard.
  static func read(_ index: String) throws(CheckpointError) -> [(shard: String, names: [String])] {
    let text = try rethrow(as: CheckpointError.file, readFile(index, limit: 64 << 20))
    let json = try rethrow(
      as: { (error: JSONError) in CheckpointError.malformedIndex(file: index, reason: error.description) },
      JSONValue(parsing: text, depthLimit: 16))
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
