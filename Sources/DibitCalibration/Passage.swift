internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// Texts on their way through a model, a layer at a time.
struct Passage: ~Copyable {
  /// The model as far as it is known.
  var decoder: Decoder
  /// The residual stream of each batch where the passage stands; earlier ones, put back, take it to where it stood.
  var streams: Streams
  /// The streams before the layer whose keys and values later ones attend to; none before that layer, or where each has its own.
  private var sources: Streams?
  private let batches: [[[Int32]]]

  /// A passage that stands before the first layer; its streams lie in `spill`, or in memory.
  init(_ decoder: consuming Decoder, _ batches: [[[Int32]]], in spill: StreamSpill? = nil, _ runner: inout ModelRunner) {
    self.decoder = decoder
    self.batches = batches
    let rows = batches.map { $0.reduce(0) { $0 + $1.count } }
    streams = Streams(rows: rows, columns: self.decoder.configuration.hiddenSize, in: spill)
    for (index, batch) in batches.enumerated() {
      Self.begin(&runner, batch)
      self.decoder.forward(&runner, through: 0)
      streams.write(index, runner.stream)
    }
  }

  /// Lets go of the embedding and the head, which no layer reads.
  mutating func releaseTables() {
    for parameter in decoder.weights.parameters where parameter.role.isTable {
      decoder.weights.update(parameter.index) { $0.weight = Weight(zerosWithRows: 0, columns: 0) }
    }
  }

  /// Writes what a branch reads of a batch to ``ModelRunner/hidden``.
  func read(_ batch: Int, layer: Int, branch: Int, _ runner: inout ModelRunner) {
    Self.begin(&runner, batches[batch])
    streams.read(batch) { decoder.read(&runner, layer: layer, branch: branch, from: $0) }
  }

  /// Runs branches of a layer on a batch, to ``ModelRunner/stream``. The passage stands where it stood.
  func run(_ batch: Int, layer: Int, branches: Range<Int>, _ runner: inout ModelRunner) {
    Self.begin(&runner, batches[batch])
    if layer >= decoder.configuration.keyValueLayers, branches.contains(0) {
      let source = decoder.configuration.keyValueLayers - 1
      sources?.read(batch) { decoder.read(&runner, layer: source, branch: 0, from: $0, preparing: true) }
    }
    streams.read(batch) { decoder.forward(&runner, layer: layer, branches: branches, from: $0) }
  }

  /// The same for branches whose last linear layers read `inputs`, one for each; see ``Decoder/finish(_:layer:branches:from:with:)``.
  func finish(_ batch: Int, layer: Int, branches: Range<Int>, with inputs: Span<QuantizedRows>, _ runner: inout ModelRunner) {
    Self.begin(&runner, batches[batch])
    streams.read(batch) { decoder.finish(&runner, layer: layer, branches: branches, from: $0, with: inputs) }
  }

  /// Goes behind the branches that a batch has just been run through.
  mutating func advance(_ batch: Int, layer: Int, branches: Range<Int>, _ runner: borrowing ModelRunner) {
    let isShared = decoder.configuration.keyValueLayers < decoder.configuration.layers
    if isShared, layer == decoder.configuration.keyValueLayers - 1, branches.contains(0) {
      if sources == nil { sources = streams.copied() }
      Self.copy(batch, of: streams, to: &sources)
    }
    streams.write(batch, runner.stream)
  }

  // The owners come apart here: an element of one field would lock the whole struct.
  private static func copy(_ batch: Int, of streams: borrowing Streams, to others: inout Streams?) {
    streams.read(batch) { others?.write(batch, $0) }
  }

  /// Writes the final norm of a batch, behind all layers, to ``ModelRunner/hidden``.
  func normalize(_ batch: Int, _ runner: inout ModelRunner) {
    Self.begin(&runner, batches[batch])
    streams.read(batch) { decoder.normalize(&runner, from: $0) }
  }

  /// Overwrites `lacking` with the streams of a batch that another passage has, less those here, `[n, C]`.
  func difference(from other: borrowing Passage, _ batch: Int, into lacking: inout Matrix, on compute: Compute) {
    other.streams.read(batch) { lacking.assign($0.span, columns: $0.columns) }
    streams.read(batch) { lacking.subtract($0, on: compute) }
  }

  /// One over the root of the mean square of each row of a batch's stream.
  func inverseNorms(_ batch: Int) -> [Float] {
    streams.read(batch) { $0.inverseRowNorms() }
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

  private static func begin(_ runner: inout ModelRunner, _ batch: [[Int32]]) {
    runner.removeAll()
    var start = 0
    for window in batch {
      runner.append(window.span, start: start)
      start += window.count
    }
  }
}

extension Matrix {
  /// One over the root of the mean square of each row.
  func inverseRowNorms() -> [Float] {
    let (values, columns) = (span, columns)
    var norms: [Float] = []
    norms.reserveCapacity(rows)
    for first in stride(from: 0, to: values.count, by: max(columns, 1)) {
      var square: Float = 0
      for index in first..<first + columns { square += values[index] * values[index] }
      norms.append(1 / (square / Float(columns) + .leastNormalMagnitude).squareRoot())
    }
    return norms
  }
}
