internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// A text on its way through the float model, which shows what its linear layers read.
struct ReadPassage: ~Copyable {
  private let batches: [[[Int32]]]
  private var runner: ModelRunner
  private var passage: Passage
  private let recorder = InputRecorder(LinearKind.allCases)

  /// Rows of inputs.
  struct Inputs {
    let columns: Int
    let values: [Float]

    var matrix: Matrix { Matrix(rows: values.count / columns, columns: columns, values: values) }
  }

  init(_ configuration: ModelConfiguration, _ weights: DecoderWeights, _ batches: [[[Int32]]], on compute: Compute) {
    self.batches = batches
    let decoder = Decoder(configuration, weights: weights)
    runner = ModelRunner(decoder, Calibrator.limits(of: batches), precision: .float32, on: compute)
    passage = Passage(decoder, batches, &runner)
  }

  /// The inputs of each batch, and the linear layers that read them; the passage goes behind the layer.
  mutating func inputs(of layer: Int) -> [(inputs: [Inputs], parameters: [Parameter])] {
    var groups: [[Parameter]] = []
    for branch in passage.decoder.steps(of: layer).flatMap(\.self) {
      let (first, last) = passage.decoder.linears(of: layer, branch: branch)
      groups += [first, [last]].filter { !$0.isEmpty }
    }
    var inputs = [[Inputs]](repeating: [], count: groups.count)
    for batch in batches.indices {
      runner.observe(with: recorder)
      passage.run(batch, layer: layer, branches: 0..<2, &runner)
      runner.observe(with: nil)
      passage.advance(batch, layer: layer, branches: 0..<2, runner)
      for (index, group) in groups.enumerated() {
        guard case .linear(let kind) = group[0].role else { continue }
        let columns = group[0].weight.columns
        inputs[index].append(Inputs(columns: columns, values: recorder.values(kind)))
      }
    }
    return Array(zip(inputs, groups).map { (inputs: $0, parameters: $1) })
  }

  /// The inputs of the output head, behind all layers.
  mutating func final() -> [Inputs] {
    batches.indices.map { batch in
      passage.normalize(batch, &runner)
      return Inputs(columns: runner.hidden.columns, values: runner.hidden.values)
    }
  }
}
