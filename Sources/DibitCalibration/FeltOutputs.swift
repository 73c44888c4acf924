internal import BasicContainers
internal import DibitFiles
internal import DibitKernels
internal import DibitModel
internal import DibitTensor
internal import Synchronization

/// The way in which predictions feel errors of the outputs of linear layers together, layer by layer; see ``OutputFeedback``.
struct FeltOutputs: ~Copyable {
  /// Outputs of a layer that are taken together. Memory grows with the square of it.
  static let together = 2048

  private let batches: [[[Int32]]]
  private var passage: Passage
  private var runner: ModelRunner
  private var backward: BackwardState
  /// The gradients `[n, C]` of the float model's stream on each batch, behind each layer; nil where they are not known.
  private var gradients: Streams?
  private let spill: StreamSpill?

  /// Stands before the first layer of a model with these tables.
  ///
  /// - Parameters:
  ///   - gradients: what ``gradients(_:_:of:in:on:did:)`` found; nil where nothing is to be told.
  ///   - spill: the file that streams lie in; nil for memory.
  init(
    _ decoder: consuming Decoder, _ batches: [[[Int32]]], _ gradients: consuming Streams?, in spill: StreamSpill?, on compute: Compute
  ) {
    (self.batches, self.spill) = (batches, spill)
    self.gradients = gradients
    let limits = Calibrator.limits(of: batches)
    runner = ModelRunner(decoder, limits, adapter: nil, recording: .newest, on: compute)
    backward = BackwardState(
      decoder, rows: limits.rows, adapter: nil, training: TrainableList(decoder.weights, adapter: nil, includesWeights: false))
    passage = Passage(decoder, batches, in: spill, &runner)
    passage.releaseTables()
  }

  /// The failure of the file, behind which nothing that was found means anything.
  var failure: FileError? { spill?.failure }

  /// Finds the gradients of a float model's stream on each batch, behind each layer.
  ///
  /// - Parameters:
  ///   - weights: the model as a whole, as it is run.
  ///   - did: is called behind each batch.
  static func gradients<Failure: Error>(
    _ configuration: ModelConfiguration, _ weights: DecoderWeights, of batches: [[[Int32]]], in spill: StreamSpill?, on compute: Compute,
    did: () throws(Failure) -> Void
  ) throws(Failure) -> Streams {
    let rows = batches.map { $0.reduce(0) { $0 + $1.count } }
    var found = Streams(rows: (0..<configuration.layers).flatMap { _ in rows }, columns: configuration.hiddenSize, in: spill)
    // Before minutes of work on them.
    guard spill?.failure == nil else { return found }
    var passes = DrawnGradients(configuration, weights, batches, on: compute)
    for (index, batch) in batches.enumerated() {
      passes.run(batch) { layer, gradient in found.write(layer * batches.count + index, gradient) }
      try did()
    }
    return found
  }

  /// Goes behind a layer of a model with these weights.
  ///
  /// - Parameter did: is called behind each batch that tells of the layer's outputs.
  /// - Returns: the feedback between the outputs of the layer's matrices, by parameter; none where none is to be found or gradients are not known.
  mutating func advance<Failure: Error>(
    behind layer: Int, _ weights: DecoderWeights, findsFeedback: Bool, damping: Float, on compute: Compute,
    did: () throws(Failure) -> Void
  ) throws(Failure) -> [Int: [OutputFeedback]] {
    let parameters = LinearKind.allCases.compactMap { weights.linear($0, layer) }
    let before = parameters.map { passage.decoder.weights.parameters[$0.index] }
    for parameter in parameters { passage.decoder.weights.update(parameter.index) { $0.weight = parameter.weight } }
    let moments = GradientMoments(on: compute)
    for batch in batches.indices {
      passage.run(batch, layer: layer, branches: 0..<2, &runner)
      passage.advance(batch, layer: layer, branches: 0..<2, runner)
      guard findsFeedback, Self.read(layer * batches.count + batch, of: gradients, to: &backward, rows: runner.rows) else { continue }
      runner.observe(with: moments)
      passage.decoder.backward(&runner, layers: layer..<layer + 1, &backward)
      runner.observe(with: nil)
      try did()
    }
    var feedback: [Int: [OutputFeedback]] = [:]
    for parameter in parameters {
      if case .linear(let kind) = parameter.role { feedback[parameter.index] = moments.feedback(kind, damping: damping) }
    }
    // The layer whose keys and values others attend to computes them again.
    for parameter in before where layer != passage.decoder.configuration.keyValueLayers - 1 {
      passage.decoder.weights.update(parameter.index) { $0.weight = parameter.weight }
    }
    return feedback
  }

  /// Takes a gradient to the way back; false where none is known.
  private static func read(_ index: Int, of gradients: borrowing Streams?, to backward: inout BackwardState, rows: Int) -> Bool {
    switch gradients {
    case .none: return false
    case .some(let gradients):
      backward.setRows(rows)
      gradients.read(index) { backward.dStream.copy($0) }
      return true
    }
  }
}

/// The second moments of gradients by the outputs of the linear layers of a pass, each token's divided by its size.
///
/// A few tokens, which all others attend to, have gradients far larger than the rest, and inputs of their own; undivided, they would say all.
private final class GradientMoments: LinearObserver {
  private struct Sums: ~Copyable {
    private(set) var kinds: [LinearKind] = []
    private(set) var moments = UniqueArray<UniqueArray<SecondMoments>>()

    mutating func add(_ gradient: borrowing Matrix, of kind: LinearKind, on compute: Compute) {
      if !kinds.contains(kind) {
        var parts = UniqueArray<SecondMoments>()
        for first in stride(from: 0, to: gradient.columns, by: FeltOutputs.together) {
          parts.append(SecondMoments(columns: min(FeltOutputs.together, gradient.columns - first)))
        }
        kinds.append(kind)
        moments.append(parts)
      }
      guard let index = kinds.firstIndex(of: kind) else { return }
      for part in 0..<moments[index].count {
        var columns = Matrix(rows: gradient.rows, columns: moments[index][part].products.columns)
        columns.copyColumns(of: gradient, from: part * FeltOutputs.together)
        moments[index][part].add(columns, on: compute)
      }
    }
  }

  private let sums = Mutex(Sums())
  private let compute: Compute

  init(on compute: Compute) { self.compute = compute }

  func observe(layer: Int, kind: LinearKind, input: borrowing Matrix, gradient: borrowing Matrix) {
    // The gradient of a gate's output goes with what it is multiplied with, so that for each of them other tokens matter: taken together they say nothing.
    guard kind != .gate, kind != .gateUp else { return }
    var divided = gradient.copied()
    divided.multiplyRows(by: gradient.inverseRowNorms(), on: compute)
    let rows = divided
    sums.withLock { $0.add(rows, of: kind, on: compute) }
  }

  /// The feedback between the outputs of a layer; none where nothing was seen of it.
  func feedback(_ kind: LinearKind, damping: Float) -> [OutputFeedback] {
    sums.withLock { sums in
      guard let index = sums.kinds.firstIndex(of: kind) else { return [] }
      var feedback: [OutputFeedback] = []
      for part in 0..<sums.moments[index].count {
        let made = OutputFeedback(
          moments: sums.moments[index][part].products, from: part * FeltOutputs.together, damping: damping, on: compute)
        guard let made else { return [] }
        feedback.append(made)
      }
      return feedback
    }
  }
}
