internal import BasicContainers
internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// The inputs of the last linear layers of branches on the first batches of a text, as packed weights read them, so that nothing before these layers need
/// run again.
///
/// One is used for all layers of a model: its memory, once taken, stays.
struct LastInputs: ~Copyable {
  private let mostBytes: Int
  private let rows: Int
  private let columns: Int
  private var branches = 1
  /// The inputs that are kept, branch by branch and batch by batch; behind them, memory.
  private(set) var inputs = UniqueArray<QuantizedRows>()
  private var count = 0
  private var isFull = false

  /// None yet of batches of up to so many rows; `mostBytes` is ``Calibrator/Options/mostInputBytes``.
  init(_ configuration: ModelConfiguration, rows: Int, mostBytes: Int) {
    (self.rows, self.mostBytes) = (rows, mostBytes)
    columns = DecoderWeights.declarations(of: configuration).parameters.reduce(0) { most, parameter in
      if case .linear = parameter.role { max(most, parameter.columns) } else { most }
    }
  }

  /// Begins with so many branches of another layer.
  mutating func removeAll(branches: Int) { (self.branches, count, isFull) = (branches, 0, false) }

  /// The batches of which all branches are here.
  var batches: Int { count / branches }

  /// The part of ``inputs`` that belongs to a batch, one for each branch.
  func range(of batch: Int) -> Range<Int> { batch * branches..<(batch + 1) * branches }

  /// Adds what the next branch of a batch reads, `[n, columns]`, until there is as much as is kept.
  mutating func add(_ x: borrowing Matrix, on compute: Compute) {
    if count.isMultiple(of: branches), count + branches > inputs.count {
      isFull = isFull || (0..<inputs.count).reduce(0) { $0 + inputs[$1].byteCount } >= mostBytes
    }
    guard !isFull else { return }
    if count == inputs.count { inputs.append(QuantizedRows(capacity: rows, columns: columns)) }
    inputs[count].quantize(x, on: compute)
    count += 1
  }
}
