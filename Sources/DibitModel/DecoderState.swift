internal import BasicContainers
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
  var projected: Matrix  // [N, C] what a block adds to it
  var finalInverseRMS: Matrix  // [N, 1]
  /// The final normed hidden states `[N, C]` of the last forward pass.
  public internal(set) var hidden: Matrix
  var blocks: UniqueArray<BlockActivations>

  /// State for batches of `capacity` rows with adapters of up to `rank`.
  public init(_ configuration: ModelConfiguration, capacity: Int, rank: Int, isRecording: Bool) {
    self.capacity = capacity
    self.isRecording = isRecording
    tokens = Buffer(count: capacity)
    positions = Buffer(count: capacity)
    stream = Matrix(rows: capacity, columns: configuration.hiddenSize)
    projected = Matrix(rows: capacity, columns: configuration.hiddenSize)
    finalInverseRMS = Matrix(rows: capacity, columns: 1)
    hidden = Matrix(rows: capacity, columns: configuration.hiddenSize)
    blocks = UniqueArray()
    for _ in 0..<(isRecording ? configuration.layers : 1) { blocks.append(BlockActivations(configuration, rows: capacity, rank: rank)) }
  }

  mutating func setRows(_ n: Int) {
    rows = n
    stream.setRows(n)
    projected.setRows(n)
    finalInverseRMS.setRows(n)
    hidden.setRows(n)
    for i in 0..<blocks.count { blocks[i].setRows(n) }
  }
}
