@testable import DibitBenchmark
import DibitFiles
import DibitJSON
import DibitKernels
import DibitModelStore
import DibitQuantization
import DibitTestSupport

/// Shapes small enough for tests; 100 columns leave a short last group and a padded last block.
enum Tiny {
  static let llama = BenchmarkShape.llama(
    vocabulary: 320, hidden: 64, wide: 100, layers: 2, heads: 4, keyValueHeads: 2, ties: false, context: 128)
  static let tied = BenchmarkShape.llama(
    vocabulary: 320, hidden: 64, wide: 128, layers: 1, heads: 4, keyValueHeads: 4, context: 128)
  static let afm7 = BenchmarkShape.afm7(
    vocabulary: 320, hidden: 64, factor: 2.75, layers: 3, reusing: 1, heads: 4, keyValueHeads: 2, context: 128)

  /// Writes a model into a directory of its own; it is removed with `scratch`.
  static func write(
    _ configuration: JSONObject, bits: Int = 2, group: Int? = 64, embeddingBits: Int = 4, family: LevelFamily = .symmetric,
    seed: UInt64 = 7, to scratch: Scratch, _ name: String = "model"
  ) throws -> String {
    var scheme = QuantizationScheme()
    (scheme.bits, scheme.group, scheme.embeddingBits, scheme.family) = (bits, group, embeddingBits, family)
    let directory = try StagedDirectory(destination: scratch(name), inputs: .none)
    try SyntheticModel(configuration, scheme: scheme, seed: seed).write(into: directory)
    try directory.commit()
    return scratch(name)
  }
}
