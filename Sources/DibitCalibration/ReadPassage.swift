internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// A text on its way through the float model, which shows what its linear layers read.
struct ReadPassage: ~Copyable {
  private let batches: [[[Int32]]]
  private var runner: ModelRunner
  private var passage: Passage
  private let recorder = LinearRecorder(inputs: LinearKind.allCases)

  init(_ configuration: ModelConfiguration, _ weights: DecoderWeights, _ batches: [[[Int32]]], on compute: Compute) {
    self.batches = batches
    let decoder = Decoder(configuration, weights: weights)
    runner = ModelRunner(decoder, Calibrator.limits(of: batches), precision: .float32, on: compute)
    passage = Passage(decoder, batches, &runner)
  }

  /// The linear layers of a layer, those together that read the same inputs.
  func groups(of layer: Int) -> [[Parameter]] {
    passage.decoder.steps(of: layer).flatMap(\.self).flatMap { branch in
      let (first, last) = passage.decoder.linears(of: layer, branch: branch)
      return [first, [last]].filter { !$0.isEmpty }
    }
  }

  /// Shows what each group of a layer reads, `[n, columns]`, batch by batch; the passage goes behind the layer.
  mutating func read(_ layer: Int, _ groups: [[Parameter]], _ show: (_ group: Int, _ inputs: borrowing Matrix) -> Void) {
    for batch in batches.indices {
      runner.observe(with: recorder)
      passage.run(batch, layer: layer, branches: 0..<2, &runner)
      runner.observe(with: nil)
      passage.advance(batch, layer: layer, branches: 0..<2, runner)
      for (index, group) in groups.enumerated() {
        if case .linear(let kind) = group[0].role { recorder.withInputs(kind) { show(index, $0) } }
      }
    }
  }

  /// Shows what the output head reads, behind all layers.
  mutating func readHead(_ show: (_ inputs: borrowing Matrix) -> Void) {
    for batch in batches.indices {
      passage.normalize(batch, &runner)
      show(runner.hidden)
    }
  }
}
