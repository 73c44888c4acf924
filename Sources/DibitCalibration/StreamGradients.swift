internal import BasicContainers
internal import DibitFiles
internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// The gradients of the residual stream behind each layer of a float model, for labels that are drawn from its predictions on short texts: how
/// these feel errors there.
struct StreamGradients: ~Copyable {
  private var layers = UniqueArray<Streams>()

  /// Gradients on some texts, which lie in `spill`, or in memory.
  ///
  /// - Parameters:
  ///   - weights: the float model, as it is run.
  ///   - did: is called behind each batch.
  init<Failure: Error>(
    _ configuration: ModelConfiguration, _ weights: DecoderWeights, _ batches: [[[Int32]]], in spill: StreamSpill?, on compute: Compute,
    did: () throws(Failure) -> Void
  ) throws(Failure) {
    let rows = batches.map { $0.reduce(0) { $0 + $1.count } }
    for _ in 0..<configuration.layers { layers.append(Streams(rows: rows, columns: configuration.hiddenSize, in: spill)) }
    var gradients = DrawnGradients(configuration, weights, batches, on: compute)
    for (index, batch) in batches.enumerated() {
      gradients.run(batch) { layers[$0].write(index, $1) }
      try did()
    }
  }

  /// Shows the gradient `[n, C]` of a batch behind a layer.
  func read(_ batch: Int, behind layer: Int, _ body: (borrowing Matrix) -> Void) { layers[layer].read(batch, body) }
}
