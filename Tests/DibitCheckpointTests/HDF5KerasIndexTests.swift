import Testing

@testable import DibitCheckpoint

@Suite struct HDF5KerasIndexTests {
  private func shards(_ text: String) throws -> [String] { try KerasIndex.shards(of: Array(text.utf8), path: "i") }

  @Test func shardsAreNamedOnceEach() throws {
    let text = #"{"metadata": {"total_size": 8.0}, "weight_map": {"/a/vars": ["m_1.h5", "m_0.h5"], "/b/vars": "m_0.h5", "/c": "m_2.h5"}}"#
    #expect(try shards(text) == ["m_1.h5", "m_0.h5", "m_2.h5"])
  }

  @Test func anIndexNamesFilesBesideIt() {
    for name in ["../m.h5", "/etc/passwd", "", "."] {
      #expect(throws: CheckpointError.shardName(index: "i", tensor: "/a", shard: name)) {
        try shards(#"{"weight_map": {"/a": "\#(name)"}}"#)
      }
    }
    for text in ["", "{", "[]", #"{"weight_map": {}}"#, #"{"weight_map": {"a": []}}"#, #"{"weight_map": {"a": [1]}}"#] {
      #expect {
        try shards(text)
      } throws: { error in
        if case CheckpointError.malformedIndex(file: "i", _) = error { true } else { false }
      }
    }
  }

  @Test func directories() throws {
    let scratch = Scratch()
    let empty = scratch.directory("empty")
    #expect(throws: CheckpointError.noTensors(directory: empty, found: [])) { try KerasIndex.files(in: empty) }
    try scratch.write("x", to: "model.weights.h5")
    #expect(try KerasIndex.files(in: scratch.path) == ["model.weights.h5"])
    try scratch.write(#"{"weight_map": {"/a": "model_00000.weights.h5"}}"#, to: "model.weights.json")
    let missing = CheckpointError.missingShard(index: scratch("model.weights.json"), shard: "model_00000.weights.h5")
    #expect(throws: missing) { try KerasIndex.files(in: scratch.path) }
    try scratch.write("x", to: "model_00000.weights.h5")
    #expect(try KerasIndex.files(in: scratch.path) == ["model_00000.weights.h5"])
  }
}
