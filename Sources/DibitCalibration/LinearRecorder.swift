internal import BasicContainers
internal import DibitModel
internal import DibitTensor
internal import Synchronization

/// The inputs and outputs of some linear layers in the last pass.
final class LinearRecorder: LinearObserver {
  /// The matrices of some kinds of layers.
  private struct Record: ~Copyable {
    let kinds: [LinearKind]
    var matrices = UniqueArray<Matrix>()

    init(_ kinds: [LinearKind]) {
      self.kinds = kinds
      for _ in kinds { matrices.append(Matrix(rows: 0, columns: 0)) }
    }

    mutating func with(_ kind: LinearKind, _ body: (inout Matrix) -> Void) {
      if let index = kinds.firstIndex(of: kind) { body(&matrices[index]) }
    }

    // What is there already is written over: passes have much the same rows.
    mutating func assign(_ kind: LinearKind, _ matrix: borrowing Matrix) {
      with(kind) { $0.assign(matrix.span, columns: matrix.columns) }
    }
  }

  private let inputs: Mutex<Record>
  private let outputs: Mutex<Record>

  /// Sees the inputs and the outputs of the layers of these kinds.
  init(inputs: [LinearKind] = [], outputs: [LinearKind] = []) {
    self.inputs = Mutex(Record(inputs))
    self.outputs = Mutex(Record(outputs))
  }

  /// Hands out the inputs of a layer, `[n, columns]`, which may be changed where they are.
  func withInputs(_ kind: LinearKind, _ body: (inout Matrix) -> Void) { inputs.withLock { $0.with(kind, body) } }

  /// Hands out the outputs of a layer, `[n, rows]`, which may be changed where they are.
  func withOutputs(_ kind: LinearKind, _ body: (inout Matrix) -> Void) { outputs.withLock { $0.with(kind, body) } }

  func observe(layer: Int, kind: LinearKind, input: borrowing Matrix, output: borrowing Matrix) {
    inputs.withLock { $0.assign(kind, input) }
    outputs.withLock { $0.assign(kind, output) }
  }
}
