internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// Texts on their way through a model, a layer at a time.
struct Passage: ~Copyable {
  /// The model as far as it is known.
  var decoder: Decoder
  /// The residual stream of each batch where the passage stands, `[n, C]`.
  private(set) var streams: [[Float]] = []
  /// The streams before the layer whose keys and values later ones attend to.
  private var sources: [[Float]] = []
  private let batches: [[[Int32]]]

  /// A passage that stands before the first layer.
  init(_ decoder: consuming Decoder, _ batches: [[[Int32]]], _ runner: inout ModelRunner) {
    self.decoder = decoder
    self.batches = batches
    for batch in batches {
      Self.begin(&runner, batch)
      self.decoder.forward(&runner, through: 0)
      streams.append(runner.stream.values)
    }
  }

  /// Writes what a branch reads of a batch to ``ModelRunner/hidden``.
  func read(_ batch: Int, layer: Int, branch: Int, _ runner: inout ModelRunner) {
    Self.begin(&runner, batches[batch])
    decoder.read(&runner, layer: layer, branch: branch, from: matrix(streams[batch]))
  }

  /// Runs branches of a layer on a batch, to ``ModelRunner/stream``. The passage stands where it stood.
  func run(_ batch: Int, layer: Int, branches: Range<Int>, _ runner: inout ModelRunner) {
    Self.begin(&runner, batches[batch])
    if layer >= decoder.configuration.keyValueLayers, branches.contains(0) {
      decoder.read(
        &runner, layer: decoder.configuration.keyValueLayers - 1, branch: 0, from: matrix(sources[batch]), preparing: true)
    }
    decoder.forward(&runner, layer: layer, branches: branches, from: matrix(streams[batch]))
  }

  /// Goes behind the branches that a batch has just been run through.
  mutating func advance(_ batch: Int, layer: Int, branches: Range<Int>, _ runner: borrowing ModelRunner) {
    let isShared = decoder.configuration.keyValueLayers < decoder.configuration.layers
    if isShared, layer == decoder.configuration.keyValueLayers - 1, branches.contains(0) {
      if sources.isEmpty { sources = [[Float]](repeating: [], count: batches.count) }
      sources[batch] = streams[batch]
    }
    streams[batch] = runner.stream.values
  }

  /// Goes back to where streams were of which it was told by ``streams``.
  mutating func restore(_ streams: [[Float]]) { self.streams = streams }

  /// Writes the final norm of a batch, behind all layers, to ``ModelRunner/hidden``.
  func normalize(_ batch: Int, _ runner: inout ModelRunner) {
    Self.begin(&runner, batches[batch])
    decoder.normalize(&runner, from: matrix(streams[batch]))
  }

  /// The streams of a batch that another passage has, less those here, `[n, C]`.
  func difference(from other: borrowing Passage, _ batch: Int) -> Matrix {
    var lacking = other.matrix(other.streams[batch])
    let own = streams[batch]
    lacking.subtract(own.span)
    return lacking
  }

  /// One over the root of the mean square of each row of a batch's stream.
  func inverseNorms(_ batch: Int) -> [Float] {
    let (values, columns) = (streams[batch], decoder.configuration.hiddenSize)
    return stride(from: 0, to: values.count, by: columns).map { first in
      var square: Float = 0
      for index in first..<first + columns { square += values[index] * values[index] }
      return 1 / (square / Float(columns) + .leastNormalMagnitude).squareRoot()
    }
  }

  /// The weight of each token of a batch in a sum over a text: one, and `weight` for a token whose stream is more than four times as large as
  /// the median's.
  ///
  /// Those are few, the first of a text among them. All that follow attend to them (Sun et al., "Massive Activations in Large Language Models",
  /// 2024), so that an error there is one in many places.
  func weights(_ batch: Int, ofLoud weight: Float) -> [Float] {
    let norms = inverseNorms(batch)
    let median = norms.sorted()[norms.count / 2]
    return norms.map { 4 * $0 < median ? weight : 1 }
  }

  private func matrix(_ values: [Float]) -> Matrix {
    let columns = decoder.configuration.hiddenSize
    return Matrix(rows: values.count / columns, columns: columns, values: values)
  }

  private static func begin(_ runner: inout ModelRunner, _ batch: [[Int32]]) {
    runner.removeAll()
    var start = 0
    for window in batch {
      runner.append(window.span, start: start)
      start += window.count
    }
  }
}
