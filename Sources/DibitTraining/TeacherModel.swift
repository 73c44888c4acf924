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

  /// Returns what training minimises under it on batches of a source, and the bytes that it holds.
  func objective(for capacity: (rows: Int, sequences: Int), on compute: Compute) -> (objective: Objective, byteCount: Int) {
    let teacher = ModelTeacher(
      configuration, weights: weights, adapter: adapter, rows: capacity.rows, sequences: capacity.sequences, on: compute)
    return (.divergence(from: teacher, targetShare: targetShare), teacher.byteCount)
  }
}
