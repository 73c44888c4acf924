import DibitFailure
@testable import DibitCheckpoint
@testable import DibitFiles
import DibitTensor
import Testing

/// A shard whose tensors are F32 vectors.
private func shard(_ tensors: [(String, [Float])], in scratch: Scratch, _ name: String) throws {
  var writer = try SafetensorsWriter(
    path: scratch(name), tensors: tensors.map { (name: $0.0, dtype: .f32, shape: [$0.1.count]) }, metadata: [(key: "of", value: name)])
  for (_, values) in tensors { try writer.put(floats: values, as: .f32) }
  _ = try writer.finalize()
}

@Suite struct CheckpointTests {
  @Test("rows of every dtype are read as floats, some or all")
  func rows() throws {
    let scratch = Scratch()
    var writer = try SafetensorsWriter(
      path: scratch("f"),
      tensors: [
        (name: "m", dtype: .bf16, shape: [4, 3]), (name: "c", dtype: .f32, shape: [2, 3, 2]), (name: "v", dtype: .f16, shape: [3]),
      ])
    try writer.put(floats: (0..<12).map { Float($0) }, as: .bf16)
    try writer.put(floats: (0..<12).map { Float($0) + 0.5 }, as: .f32)
    try writer.put(floats: [5, 6, 7], as: .f16)
    _ = try writer.finalize()

    let checkpoint = try Checkpoint.open(scratch("f"))
    #expect(checkpoint.tensorNames == ["m", "c", "v"] && checkpoint.filePaths == [scratch("f")])
    #expect(checkpoint.info("m") == TensorInfo(dtype: .bf16, shape: [4, 3], storage: "BF16", byteCount: 24, file: scratch("f")))
    #expect(checkpoint.info("x") == nil)
    var matrix = Matrix(rows: 4, columns: 3)
    try checkpoint.readRows("m", rows: 1..<3, into: &matrix)
    #expect(matrix.rows == 2 && matrix.values == [3, 4, 5, 6, 7, 8])
    try checkpoint.readRows("m", rows: 0..<4, into: &matrix)
    #expect(matrix.rows == 4 && matrix.values == (0..<12).map { Float($0) })
    try checkpoint.readRows("m", rows: 4..<4, into: &matrix)
    #expect(matrix.rows == 0)
    try checkpoint.readRows("v", rows: 0..<1, into: &matrix)
    #expect(matrix.values == [5, 6, 7])

    let cube = try checkpoint.readMatrix("c")
    #expect(cube.rows == 2 && cube.columns == 6 && cube.values == (0..<12).map { Float($0) + 0.5 })
    #expect(try checkpoint.readVector("c") == (0..<12).map { Float($0) + 0.5 })
    #expect(try checkpoint.bytes("v")?.array == [0, 0x45, 0, 0x46, 0, 0x47])
    for name in ["m", "c", "v", "x"] {
      checkpoint.release(name)
      checkpoint.release(name, rows: 1..<9)
    }
    #expect(try checkpoint.readVector("v") == [5, 6, 7])
  }

  @Test func badRequests() throws {
    let scratch = Scratch()
    let path = scratch("f")
    var writer = try SafetensorsWriter(path: path, tensors: [(name: "m", dtype: .u8, shape: [2, 3])])
    try writer.put(bytes: [UInt8](repeating: 1, count: 6))
    _ = try writer.finalize()
    let checkpoint = try Checkpoint.open(path)
    var matrix = Matrix(rows: 2, columns: 3)
    var wide = Matrix(rows: 2, columns: 4)
    #expect(throws: CheckpointError.unknownTensor("n", path: path)) { try checkpoint.readRows("n", rows: 0..<1, into: &matrix) }
    #expect(throws: CheckpointError.unknownTensor("n", path: path)) { try checkpoint.readVector("n") }
    #expect(throws: CheckpointError.unknownTensor("n", path: path)) { _ = try checkpoint.bytes("n") }
    #expect(throws: CheckpointError.rowsOutside(tensor: "m", file: path, rows: 1..<3, count: 2)) {
      try checkpoint.readRows("m", rows: 1..<3, into: &matrix)
    }
    #expect(throws: CheckpointError.rowsOutside(tensor: "m", file: path, rows: -1..<1, count: 2)) {
      try checkpoint.readRows("m", rows: -1..<1, into: &matrix)
    }
    let mismatch = CheckpointError.shapeMismatch(tensor: "m", file: path, expected: [2, 4], found: [2, 3])
    #expect(throws: mismatch) { try checkpoint.readRows("m", rows: 0..<2, into: &wide) }
    #expect(throws: mismatch) { try checkpoint.tensor("m", shape: [2, 4]) }
    #expect(mismatch.description == "'\(path)': tensor 'm': shape [2, 4] expected, [2, 3] found")
    #expect(try checkpoint.tensor("m", shape: [2, 3]).rows == 2)
  }

  @Test func emptyTensors() throws {
    let scratch = Scratch()
    _ = try SafetensorsWriter(
      path: scratch("f"), tensors: [(name: "a", dtype: .f32, shape: [0, 1 << 59]), (name: "b", dtype: .f32, shape: [2, 0])]
    ).finalize()
    let checkpoint = try Checkpoint.open(scratch("f"))
    #expect(try checkpoint.readMatrix("a").rows == 0)
    #expect(try checkpoint.readMatrix("b").shape == "[2, 0]")
    #expect(try checkpoint.readVector("a") == [])
  }

  @Test func directoriesWithOneFile() throws {
    let scratch = Scratch()
    #expect(throws: CheckpointError.noTensors(directory: scratch.path, found: [])) { _ = try Checkpoint.open(scratch.path) }
    try scratch.write("{}", to: "config.json")
    #expect(throws: CheckpointError.noTensors(directory: scratch.path, found: ["config.json"])) { _ = try Checkpoint.open(scratch.path) }
    try shard([("a", [1])], in: scratch, "other.safetensors")
    #expect(try Checkpoint.open(scratch.path).filePaths == [scratch("other.safetensors")])
    try shard([("a", [1])], in: scratch, "another.safetensors")
    #expect(throws: CheckpointError.ambiguous(directory: scratch.path, candidates: ["another.safetensors", "other.safetensors"])) {
      _ = try Checkpoint.open(scratch.path)
    }
    try shard([("b", [2])], in: scratch, "model.safetensors")
    let checkpoint = try Checkpoint.open(scratch.path)
    #expect(checkpoint.tensorNames == ["b"] && checkpoint.metadata.map(\.value) == ["model.safetensors"])
  }

  @Test func filesAreRecognisedByContent() throws {
    let scratch = Scratch()
    try shard([("a", [1])], in: scratch, "weights.bin")
    #expect(try Checkpoint.open(scratch("weights.bin")).tensorNames == ["a"])
    let page = try scratch.write("<!doctype html>", to: "page.safetensors")
    #expect(throws: CheckpointError.malformed(file: page, .otherFormat(.html))) { _ = try Checkpoint.open(page) }
    #expect(throws: CheckpointError.file(.notFound(path: scratch("x")))) { _ = try Checkpoint.open(scratch("x")) }
    #expect(throws: CheckpointError.file(.emptyFile(path: scratch("e")))) {
      try scratch.write("", to: "e")
      _ = try Checkpoint.open(scratch("e"))
    }
  }

  @Test func shards() throws {
    let scratch = Scratch()
    try shard([("c", [3]), ("a", [1])], in: scratch, "x-2.safetensors")
    try shard([("b", [2, 2])], in: scratch, "x-1.safetensors")
    // An index goes before a lone file.
    try shard([("z", [9])], in: scratch, "model.safetensors")
    try scratch.write(
      #"{"weight_map":{"a":"x-2.safetensors","b":"x-1.safetensors","c":"x-2.safetensors"},"metadata":{"total_size":1}}"#,
      to: ShardIndex.names[0])
    let checkpoint = try Checkpoint.open(scratch.path + "/")
    #expect(checkpoint.tensorNames == ["b", "c", "a"])
    #expect(checkpoint.info("a")?.file == scratch.path + "//x-2.safetensors".dropFirst())
    for (name, values) in [("a", [1]), ("b", [2, 2]), ("c", [3])] as [(String, [Float])] {
      #expect(try checkpoint.readVector(name) == values)
    }
  }

  @Test func badIndices() throws {
    func opened(_ index: String, shards: Bool = true) throws -> CheckpointError? {
      let scratch = Scratch()
      if shards { try shard([("a", [1]), ("b", [2])], in: scratch, "s") }
      try scratch.write(index, to: ShardIndex.names[0])
      let found = error { () throws(CheckpointError) in _ = try Checkpoint.open(scratch.path) }
      return found.map { $0.relative(to: scratch.path + "/") }
    }
    let index = ShardIndex.names[0]
    #expect(try opened(#"{"weight_map":{"a":"s","b":"s"}}"#) == nil)
    #expect(try opened(#"{"weight_map":{"a":"s","b":"s"}}"#, shards: false) == .missingShard(index: index, shard: "s"))
    #expect(try opened(#"{"weight_map":{"a":"s","b":"s","c":"s"}}"#) == .notInShard(index: index, tensor: "c", shard: "s"))
    #expect(try opened(#"{"weight_map":{"a":"s","c":"s"}}"#) == .notInShard(index: index, tensor: "c", shard: "s"))
    #expect(try opened(#"{"weight_map":{"a":"s"}}"#) == .notInIndex(index: index, tensor: "b", shard: "s"))
    for name in ["../s", "/etc/passwd", "sub/s", "", ".", "..", "s\\u0000/x"] {
      let shown = name == "s\\u0000/x" ? "s\0/x" : name
      #expect(
        try opened(#"{"weight_map":{"a":"\#(name)","b":"s"}}"#) == .shardName(index: index, tensor: "a", shard: shown), "\(name)")
    }
    for text in [
      "", "{", "[]", "{}", #"{"weight_map":1}"#, #"{"weight_map":{}}"#, #"{"weight_map":{"a":1}}"#, "\u{FEFF}{}",
      #"{"weight_map":{"a":"s","a":"s"}}"#, String(repeating: "[", count: 10_000),
    ] {
      guard case .malformedIndex(let file, let reason) = try opened(text) else {
        Issue.record("'\(text.prefix(40))' was accepted")
        continue
      }
      #expect(file == index && !reason.isEmpty)
    }
  }

  @Test func oneBadShard() throws {
    let scratch = Scratch()
    try shard([("a", [1])], in: scratch, "s1")
    try scratch.write("version https://git-lfs.github.com/spec/v1\n", to: "s2")
    try scratch.write(#"{"weight_map":{"a":"s1","b":"s2"}}"#, to: ShardIndex.names[0])
    #expect(throws: CheckpointError.malformed(file: scratch("s2"), .otherFormat(.gitLFSPointer))) {
      _ = try Checkpoint.open(scratch.path)
    }
    scratch.directory("s3")
    SystemCall.unlink(scratch(ShardIndex.names[0]))
    try scratch.write(#"{"weight_map":{"a":"s1","b":"s3"}}"#, to: ShardIndex.names[0])
    #expect(throws: CheckpointError.file(.notAFile(path: scratch("s3"), found: .directory))) { _ = try Checkpoint.open(scratch.path) }
  }
}

extension CheckpointError {
  /// The same error about paths without `prefix`.
  fileprivate func relative(to prefix: String) -> CheckpointError {
    func cut(_ path: String) -> String { path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : path }
    return switch self {
    case .missingShard(let index, let shard): .missingShard(index: cut(index), shard: shard)
    case .malformedIndex(let file, let reason): .malformedIndex(file: cut(file), reason: reason)
    case .shardName(let index, let tensor, let shard): .shardName(index: cut(index), tensor: tensor, shard: shard)
    case .notInShard(let index, let tensor, let shard): .notInShard(index: cut(index), tensor: tensor, shard: shard)
    case .notInIndex(let index, let tensor, let shard): .notInIndex(index: cut(index), tensor: tensor, shard: shard)
    default: self
    }
  }
}
