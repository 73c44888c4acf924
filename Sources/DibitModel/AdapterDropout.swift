internal import BasicContainers
internal import DibitKernels
internal import DibitTensor
internal import Synchronization

/// Leaves a share of the inputs of every `A` out while an adapter is trained, others in each step.
///
/// The masks follow from the seed, the step, the layer and the row of the step, so that they are the same for any number of threads and
/// after a restart. Outside of a training step it does nothing.
package final class AdapterDropout: Sendable {
  private let rate: Float
  private let seed: UInt64
  private let state: Mutex<State>

  /// Where a run is, and working memory: `[capacity, in]` for each width of `A`.
  private struct State: ~Copyable {
    var step: Int?
    var firstRow = 0
    var work: UniqueArray<Matrix>
  }

  /// Dropout at the rate of `adapter`, for passes of up to `capacity` rows.
  package init(_ adapter: borrowing Adapter, capacity: Int, seed: UInt64) {
    (rate, self.seed) = (adapter.configuration.dropout, seed)
    var widths: [Int] = []
    for i in 0..<adapter.count where !widths.contains(adapter.a[i].columns) { widths.append(adapter.a[i].columns) }
    var work = UniqueArray<Matrix>()
    for width in widths { work.append(Matrix(rows: capacity, columns: width)) }
    state = Mutex(State(step: nil, firstRow: 0, work: work))
  }

  /// The next pass belongs to `step`, counted from 1, and its first row is row `firstRow` of that step.
  package func begin(step: Int, firstRow: Int) {
    state.withLock { ($0.step, $0.firstRow) = (step, firstRow) }
  }

  /// The next passes are no training: everything stays in.
  package func end() { state.withLock { $0.step = nil } }

  /// Calls `body` with the mask of a layer and working memory for `rows` rows; false outside of a training step.
  func apply(
    _ layer: Int, _ kind: LinearKind, rows: Int, columns: Int, _ body: (_ mask: DropoutMask, _ work: inout Matrix) -> Void
  ) -> Bool {
    state.withLock { state in
      guard let step = state.step else { return false }
      var generator = SplitMix64(seed: seed, purpose: "adapter.dropout")
      // No list of the three: it would be allocated in every pass.
      func mix(_ part: Int) { generator.state = generator.next() &+ UInt64(part) }
      mix(step)
      mix(layer)
      mix(kind.rawValue)
      let mask = DropoutMask(key: generator.next(), rate: rate, firstRow: state.firstRow)
      for i in 0..<state.work.count where state.work[i].columns == columns {
        state.work[i].setRows(rows)
        body(mask, &state.work[i])
        return true
      }
      fatalError("AdapterDropout: no adapter has \(columns) inputs")
    }
  }
}
