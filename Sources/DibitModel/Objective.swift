package import DibitKernels
package import DibitTensor

/// The reference of a model in training: another model on the same tokens, or what was stored of one.
package protocol Teacher: AnyObject {
  /// Is told the tokens of the next batch: whole sequences, one after the other.
  func run(_ tokens: Span<Int32>, lengths: [Int])

  /// Overwrites `logits: [n, V]` with those of the batch's rows `rows`.
  func logits(of rows: Span<Int>, into logits: inout Matrix)

  /// Overwrites row `row` of `x: [n, C]` with row `index` of the residual stream behind the first `layers` layers.
  func copyStream(behind layers: Int, row index: Int, to row: Int, of x: inout Matrix)
}

/// The quantity that training minimises, over the rows that have a target and as much as they count.
package enum Objective {
  /// The negative log-likelihood of the targets, in nats.
  case crossEntropy
  /// The divergence of the predictions from a teacher's, in nats, of which the targets have taken the place of a share.
  case divergence(from: any Teacher, targetShare: Float = 0)
  /// The mean of the squared differences between the residual stream behind the first `layers` layers and a teacher's. Later layers do not
  /// run.
  case squaredError(from: any Teacher, layers: Int)

  /// The teacher that the model is compared with.
  var teacher: (any Teacher)? {
    switch self {
    case .crossEntropy: nil
    case .divergence(let teacher, _), .squaredError(let teacher, _): teacher
    }
  }

  /// The share of the targets in what predictions are compared with.
  var targetShare: Float { if case .divergence(_, let share) = self { share } else { 0 } }

  /// The number of layers it runs through; nil for all.
  var layers: Int? { if case .squaredError(_, let layers) = self { layers } else { nil } }
}

/// A model as a teacher, which runs beside the one in training and is not trained.
package final class ModelTeacher: Teacher {
  private let decoder: Decoder
  private let adapter: LoadedAdapter?
  private var runner: ModelRunner
  private var rows: Matrix  // [r, C]
  private var rounded: QuantizedRows
  private var layers: Int?
  private var states: HiddenStates?
  private var waiting: (tokens: [Int32], lengths: [Int])?

  /// A teacher for batches of up to `rows` rows in `sequences` sequences, of which `chunk` rows of logits exist at a time; it runs under
  /// `adapter`, if there is one.
  ///
  /// - Parameter kept: Hidden states to keep of sequences that come again. Products must then not depend on the number of rows, as a library's may.
  package init(
    _ configuration: ModelConfiguration, weights: DecoderWeights, adapter: LoadedAdapter? = nil, rows: Int, sequences: Int,
    chunk: Int = 1024, layers: Int? = nil, keeping kept: Int = 0, on compute: Compute
  ) {
    self.adapter = adapter
    decoder = Decoder(configuration, weights: weights)
    runner = ModelRunner(decoder, ModelRunner.Limits(rows: rows, segments: sequences), precision: .float32, on: compute)
    self.rows = Matrix(rows: chunk, columns: configuration.hiddenSize)
    rounded = QuantizedRows(capacity: chunk, columns: configuration.hiddenSize)
    self.layers = layers
    if kept > 0 { states = HiddenStates(capacity: kept, columns: configuration.hiddenSize) }
  }

  /// The bytes that it holds, its weights included.
  package var byteCount: Int { decoder.weights.byteCount + runner.byteCount + rows.byteCount + (states?.byteCount ?? 0) }

  /// Runs the tokens of the next batch; where states are kept, not before one is asked for that is not.
  package func run(_ tokens: Span<Int32>, lengths: [Int]) {
    guard states == nil else {
      states?.begin(tokens, lengths: lengths)
      waiting = (tokens.indices.map { tokens[$0] }, lengths)
      return
    }
    forward(tokens, lengths: lengths)
  }

  private func forward(_ tokens: Span<Int32>, lengths: [Int]) {
    runner.removeAll()
    var start = 0
    for length in lengths {
      runner.append(tokens.extracting(start..<start + length), start: start, adapter: adapter)
      start += length
    }
    decoder.forward(&runner, through: layers)
  }

  /// Overwrites `logits: [n, V]` with those of some rows of the batch.
  package func logits(of rows: Span<Int>, into logits: inout Matrix) {
    self.rows.setRows(rows.count)
    if states?.copy(rows, to: &self.rows) != true {
      if let (tokens, lengths) = waiting.take() { forward(tokens.span, lengths: lengths) }
      for index in rows.indices { self.rows.copyRow(rows[index], of: runner.hidden, to: index) }
      states?.keep(rows, self.rows)
    }
    decoder.logits(self.rows, rounded: &rounded, into: &logits, on: runner.compute)
  }

  /// Overwrites a row of `x: [n, C]` with a row of the residual stream behind the layers that it runs through.
  package func copyStream(behind layers: Int, row index: Int, to row: Int, of x: inout Matrix) {
    require(layers == self.layers, "ModelTeacher: the stream behind \(layers) layers, ran through \(self.layers.map { "\($0)" } ?? "all")")
    x.copyRow(index, of: runner.stream, to: row)
  }
}
