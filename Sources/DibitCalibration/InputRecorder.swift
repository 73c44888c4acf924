internal import DibitModel
internal import DibitTensor
internal import Synchronization

/// The inputs of some linear layers in the last pass.
final class InputRecorder: LinearObserver {
  private let kinds: [LinearKind]
  private let seen = Mutex<[LinearKind: [Float]]>([:])

  /// Sees the inputs of the layers of these kinds.
  init(_ kinds: [LinearKind]) { self.kinds = kinds }

  /// The inputs of a layer, `[n, columns]`.
  func inputs(_ kind: LinearKind, columns: Int) -> Matrix {
    let values = seen.withLock { $0[kind] ?? [] }
    return Matrix(rows: values.count / columns, columns: columns, values: values)
  }

  func observe(layer: Int, kind: LinearKind, input: borrowing Matrix, output: borrowing Matrix) {
    guard kinds.contains(kind) else { return }
    let values = input.values
    seen.withLock { $0[kind] = values }
  }
}
