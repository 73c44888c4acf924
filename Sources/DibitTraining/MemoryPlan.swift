package import DibitJSON
package import DibitKernels
package import DibitModel

/// The memory of a training run, by purpose, known before the first step.
///
/// All of it is allocated once. How many layers keep their activations is what a limit decides: the others keep their input alone, and
/// the backward pass computes them again, with the same bits.
package struct MemoryPlan: Equatable, Sendable {
  /// Bytes of the model's weights, mapped from the file while they are frozen; with the floats that are rounded to them.
  package let weights: Int
  /// Bytes of an adapter and of what the optimiser holds: gradients, moments, and an average or the best parameters so far.
  package let trained: Int
  /// Bytes of the forward pass: activations of the kept layers and of one more, inputs of the others, and working memory.
  package let activations: Int
  /// Bytes of the backward pass, which all layers share.
  package let backward: Int
  /// Bytes of keys and values.
  package let cache: Int
  /// Bytes of logits and their gradients.
  package let loss: Int
  /// Layers that keep their activations.
  package let keptLayers: Int
  /// All layers.
  package let layers: Int
  /// The most tokens of a pass.
  package let rows: Int

  /// All of it: the most that a run holds at once.
  package var total: Int { weights + trained + activations + backward + cache + loss }

  /// For machines.
  package var json: JSONValue {
    [
      "weights": .integer(weights), "trained": .integer(trained), "activations": .integer(activations), "cache": .integer(cache),
      "backward": .integer(backward), "loss": .integer(loss), "total": .integer(total), "kept_layers": .integer(keptLayers),
      "layers": .integer(layers), "tokens": .integer(rows),
    ]
  }

  /// Checks that the plan, which keeps as few layers as the limit asks for, keeps to it.
  ///
  /// - Throws: ``TrainingError/memoryLimit(given:least:)``.
  func check(limit: Int?) throws(TrainingError) {
    if let limit, total > limit { throw .memoryLimit(given: limit, least: total) }
  }

  /// The activations that the forward pass keeps.
  package var recording: Recording { keptLayers == layers ? .all : .last(keptLayers) }

  /// The plan of passes over up to `rows` tokens that keeps as many layers as fit `limit` bytes; all with no limit. `copies` floats are
  /// held for each number that is trained, and `besides` bytes with the weights. When not even a plan without any kept layer fits, that one is returned.
  package init(
    _ decoder: borrowing Decoder, rows: Int, adapter: AdapterConfiguration?, training list: TrainableList, copies: Int,
    besides: Int = 0, limit: Int? = nil, on compute: Compute
  ) {
    self.rows = rows
    layers = decoder.configuration.layers
    weights = decoder.weights.byteCount + besides
    trained = MemoryLayout<Float>.stride * copies * list.elementCount
    // Memory is taken only where it is written, so that these cost nothing.
    backward = BackwardState(decoder, rows: rows, adapter: adapter, training: list).byteCount
    loss = LossHead(decoder.configuration).byteCount
    let runner = ModelRunner(
      decoder, ModelRunner.Limits(rows: rows, segments: 1), adapter: adapter, recording: .last(0), on: compute)
    cache = runner.cacheByteCount
    let fixed = weights + trained + backward + cache + loss
    let shared = runner.byteCount - runner.activationByteCount(decoder, keeping: 0)
    keptLayers = Self.most(layers, fitting: limit) { fixed + shared + runner.activationByteCount(decoder, keeping: $0) }
    activations = shared + runner.activationByteCount(decoder, keeping: keptLayers)
  }

  /// The largest number up to `all` whose bytes fit; when none does, the one that takes least. That need not be none: a kept layer takes no
  /// part in what recomputed layers share.
  private static func most(_ all: Int, fitting limit: Int?, _ bytes: (Int) -> Int) -> Int {
    guard let limit else { return all }
    return stride(from: all, through: 0, by: -1).first { bytes($0) <= limit } ?? (0...all).min { bytes($0) < bytes($1) } ?? all
  }
}
