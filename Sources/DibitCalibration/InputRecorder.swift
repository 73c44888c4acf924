internal import BasicContainers
internal import DibitModel
internal import DibitTensor
internal import Synchronization

/// The inputs of some linear layers in the last pass.
final class InputRecorder: LinearObserver {
  private let kinds: [LinearKind]
  private let seen: Mutex<UniqueArray<Matrix>>

  /// Sees the inputs of the layers of these kinds.
  init(_ kinds: [LinearKind]) {
    self.kinds = kinds
    var inputs = UniqueArray<Matrix>()
    for _ in kinds { inputs.append(Matrix(rows: 0, columns: 0)) }
    seen = Mutex(inputs)
  }

  /// Hands out the inputs of a layer, `[n, columns]`, which may be changed where they are.
  func withInputs(_ kind: LinearKind, _ body: (inout Matrix) -> Void) {
    guard let index = kinds.firstIndex(of: kind) else { return }
    seen.withLock { body(&$0[index]) }
  }

  func observe(layer: Int, kind: LinearKind, input: borrowing Matrix, output: borrowing Matrix) {
    guard let index = kinds.firstIndex(of: kind) else { return }
    // What is there already is written over: passes have much the same rows.
    seen.withLock { $0[index].assign(input.span, columns: input.columns) }
  }
}
