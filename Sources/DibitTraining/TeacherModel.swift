internal import DibitKernels
package import DibitModel

/// A model whose predictions another one learns to make, on the same tokens.
package struct TeacherModel: Sendable {
  /// Its shape; only its vocabulary is that of the model in training.
  package let configuration: ModelConfiguration
  /// Its parameters.
  package let weights: DecoderWeights
  /// The adapter that it runs under; nil for none.
  package let adapter: LoadedAdapter?
  /// The share of the targets, labels or the text itself, in what predictions are compared with; less than one.
  package let targetShare: Float

  /// A teacher that runs these weights, under an adapter or none.
  package init(_ configuration: ModelConfiguration, weights: DecoderWeights, adapter: LoadedAdapter? = nil, targetShare: Float = 0) {
    (self.configuration, self.weights, self.adapter, self.targetShare) = (configuration, weights, adapter, targetShare)
  }

  /// The most bytes of what is kept of examples that come again.
  private static let mostKept = 256 << 20

  /// Returns what training minimises under it on batches of a source, and the bytes that it holds.
  ///
  /// - Parameters:
  ///   - repeated: Tokens that come again in every epoch and are predicted: it runs on their sequences once, as long as a quarter of a gigabyte holds
  ///     what comes of it.
  ///   - limit: The most bytes of the whole run; nil for no limit.
  func objective(
    for capacity: (rows: Int, sequences: Int), repeated: Int = 0, limit: Int? = nil, on compute: Compute
  ) -> (objective: Objective, byteCount: Int) {
    let most = min(Self.mostKept, (limit ?? .max) / 16) / (configuration.hiddenSize * MemoryLayout<Float>.stride)
    // Whether an example was met before or a run was taken up again must not be seen in the bytes: no product may depend on its batch.
    let own = repeated == 0 ? compute : compute.withoutBLAS
    let teacher = ModelTeacher(
      configuration, weights: weights, adapter: adapter, rows: capacity.rows, sequences: capacity.sequences, keeping: min(repeated, most),
      on: own)
    return (.divergence(from: teacher, targetShare: targetShare), teacher.byteCount)
  }
}
