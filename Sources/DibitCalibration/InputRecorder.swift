internal import DibitModel
internal import DibitTensor
internal import Synchronization

/// The inputs of some linear layers in the last pass.
final class InputRecorder: LinearObserver {
  private let kinds: [LinearKind]
  private let seen = Mutex<[LinearKind: [Float]]>([:])

  /// Sees the inputs of the layers of these kinds.
  init(_ kinds: [LinearKind]) { self.kinds = kinds }

  /// The inputs of a layer, row by row.
  func values(_ kind: LinearKind) -> [Float] { seen.withLock { $0[kind] ?? [] } }

  /// Overwrites `matrix` with the inputs of a layer, `[n, columns]`.
  func copyInputs(_ kind: LinearKind, columns: Int, to matrix: inout Matrix) {
    let values = values(kind)
    matrix.assign(values.span, columns: columns)
  }

  func observe(layer: Int, kind: LinearKind, input: borrowing Matrix, output: borrowing Matrix) {
    guard kinds.contains(kind) else { return }
    // What is there already is written over: passes have much the same rows.
    seen.withLock { input.copyValues(to: &$0[kind, default: []]) }
  }
}
