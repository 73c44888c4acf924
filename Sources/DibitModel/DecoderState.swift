internal import BasicContainers
internal import DibitKernels
public import DibitTensor

/// Everything a forward pass writes apart from the cache; allocated once, used for batches of up to `capacity` rows.
@safe
public struct DecoderState: ~Copyable, Sendable {
  /// The most rows of a batch.
  public let capacity: Int
  /// Whether every layer's activations are kept for a backward pass.
  public let isRecording: Bool
  var tokens: Buffer<Int32>
  var positions: Buffer<Int32>
  var rows = 0
  var stream: Matrix  // [N, C] the residual stream
  var work: Work
  var finalMoments: Matrix  // [N, 1 or 2]
  /// The final normed hidden states `[N, C]` of the last forward pass.
  public internal(set) var hidden: Matrix
  var blocks: UniqueArray<BlockActivations>

  /// What a layer writes and nobody reads after it.
  struct Work: ~Copyable, Sendable {
    var projected: Matrix  // [N, C] what a block adds to the stream
    var queryKeyValue: Matrix  // [N, H D + 2 K D] of a fused projection, before it is split
    var gateUp: Matrix  // [N, 2 F] likewise
    var rounded: QuantizedRows  // what a packed weight is multiplied with

    init(_ c: ModelConfiguration, rows N: Int) {
      projected = Matrix(rows: N, columns: c.hiddenSize)
      queryKeyValue = Matrix(rows: N, columns: c.queryColumns + 2 * c.keyColumns, if: c.fusesQueryKeyValue)
      gateUp = Matrix(rows: N, columns: 2 * c.feedForwardSize, if: c.fusesGateUp)
      rounded = QuantizedRows(capacity: N, columns: max(c.hiddenSize, c.queryColumns, c.feedForwardSize))
    }

    mutating func setRows(_ n: Int) {
      projected.use(n)
      queryKeyValue.use(n)
      gateUp.use(n)
    }
  }

  /// State for batches of `capacity` rows with adapters of up to `rank`.
  public init(_ configuration: ModelConfiguration, capacity: Int, rank: Int, isRecording: Bool) {
    self.capacity = capacity
    self.isRecording = isRecording
    tokens = Buffer(count: capacity)
    positions = Buffer(count: capacity)
    stream = Matrix(rows: capacity, columns: configuration.hiddenSize)
    work = Work(configuration, rows: capacity)
    finalMoments = Matrix(rows: capacity, columns: configuration.momentColumns)
    hidden = Matrix(rows: capacity, columns: configuration.hiddenSize)
    blocks = UniqueArray()
    for _ in 0..<(isRecording ? configuration.layers : 1) { blocks.append(BlockActivations(configuration, rows: capacity, rank: rank)) }
  }

  mutating func setRows(_ n: Int) {
    rows = n
    stream.setRows(n)
    work.setRows(n)
    finalMoments.setRows(n)
    hidden.setRows(n)
    for i in 0..<blocks.count { blocks[i].setRows(n) }
  }
}
