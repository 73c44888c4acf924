import DibitCheckpoint
import DibitConversion
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTestSupport
import Testing

/// Families whose checkpoints hold matrices in another order than the decoder reads them.
@Suite struct LayoutTests {
  static let folder = String(#filePath.dropLast("ConversionTests/LayoutTests.swift".count)) + "Fixtures/parity/"
  static let families = ["gpt2", "gpt_neox", "phi3"]
  /// These, one whose matrices lie as they are read, and one whose layers share keys and values.
  static let allFamilies = families + ["llama", "afm7"]

  /// A small checkpoint of any of ``allFamilies``.
  static func anySource(_ family: String, in scratch: Scratch) throws -> String {
    switch family {
    case "llama": try TinyCheckpoint.llama().write(to: scratch)
    case "afm7": try TinyCheckpoint.afm7().write(to: scratch)
    default: try source(family, in: scratch)
    }
  }

  /// The fixture as a source that can be converted, its tensors under the names that `rename` gives.
  static func source(_ family: String, in scratch: Scratch, rename: (String) -> String = { $0 }) throws -> String {
    let checkpoint = try Checkpoint.open(folder + family)
    let path = try scratch.directory("source")
    let tensors = try checkpoint.tensorNames.map {
      TinyTensor(rename($0), try checkpoint.tensor($0).shape, try checkpoint.readVector($0))
    }
    try writeSafetensors(tensors, to: path + "/model.safetensors")
    try scratch.write(try readBytes("config.json", in: folder + family), to: "source/config.json")
    try scratch.write(smallTokenizer(), to: "source/tokenizer.json")
    return path
  }

  private func floats(_ path: String) throws -> [[Float]] {
    try ModelSource.open(path).weights().parameters.map { expanded($0.weight) }
  }

  @Test(arguments: families)
  func unpackedWeightsStayTheSame(family: String) throws {
    let scratch = Scratch()
    let source = try Self.source(family, in: scratch)
    try convert(source, scratch("model"), scheme(32, embedding: 32))
    #expect(try floats(scratch("model")) == floats(source))
  }

  /// A matrix whose order is mixed up shares nothing with its source: the error is larger than the matrix.
  @Test(arguments: families)
  func packedWeightsAreNearTheSource(family: String) throws {
    let scratch = Scratch()
    let source = try Self.source(family, in: scratch)
    try convert(source, scratch("model"), scheme(4, group: 32))
    for (found, expected) in zip(try floats(scratch("model")), try floats(source)) {
      let error = zip(found, expected).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) }
      #expect(error < 0.02 * expected.reduce(0) { $0 + $1 * $1 })
    }
  }

  @Test(arguments: [("gpt2", "transformer."), ("gpt_neox", "gpt_neox."), ("phi3", "model.")])
  func checkpointsOfTheBareModelLackItsName(family: String, prefix: String) throws {
    let scratch = Scratch()
    let bare = try Self.source(family, in: scratch) { $0.hasPrefix(prefix) ? String($0.dropFirst(prefix.count)) : $0 }
    #expect(try Checkpoint.open(bare).tensorNames.allSatisfy { !$0.hasPrefix(prefix) })
    #expect(try floats(bare) == floats(Self.folder + family))
    try convert(bare, scratch("model"), scheme(32, embedding: 32))
    #expect(try floats(scratch("model")) == floats(bare))
  }
}
