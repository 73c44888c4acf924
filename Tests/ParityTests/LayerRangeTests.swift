import BasicContainers
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTestSupport
import Synchronization
import Testing

/// Layers that run alone, forward and backward, and what sees them.
@Suite struct LayerRangeTests {
  private static let lengths = [5, 3]
  private static let tokens: [Int32] = [0, 7, 95, 7, 31, 64, 5, 40]
  private static let targets: [Int32] = [7, -1, 7, 31, 2, 5, 40, -1]

  private func makeDecoder(_ family: String) throws -> Decoder {
    let source = try ModelSource.open(ParityTests.folder + "/" + family)
    return Decoder(source.configuration, weights: try source.weights())
  }

  private func makeAdapter(_ weights: DecoderWeights) -> Adapter {
    var shape = AdapterConfiguration()
    shape.rank = 3
    var adapter = Adapter(shape, for: weights)
    var rng = SplitMix64(seed: 2)
    adapter.initialize(using: &rng)
    return adapter
  }

  @Test("two ranges one after the other are the whole pass, bit for bit", arguments: ["llama", "afm7", "gpt_neox", "gemma2"])
  func forwardInTwo(family: String) throws {
    let decoder = try makeDecoder(family)
    func makeRunner() -> ModelRunner {
      var runner = ModelRunner(
        decoder, ModelRunner.Limits(rows: Self.tokens.count, segments: 2), precision: .float32, on: Compute(threads: 2))
      var start = 0
      for length in Self.lengths {
        runner.append(Self.tokens.span.extracting(start..<start + length), start: start)
        start += length
      }
      return runner
    }
    var whole = makeRunner()
    let layers = decoder.configuration.layers
    decoder.forward(&whole, through: layers)
    let expected = whole.stream.values
    for cut in 1..<layers {
      var runner = makeRunner()
      decoder.forward(&runner, through: cut)
      let between = Matrix(rows: runner.stream.rows, columns: runner.stream.columns, values: runner.stream.values)
      decoder.forward(&runner, layers: cut..<layers, from: between)
      #expect(runner.stream.values == expected, "cut at \(cut)")
    }
  }

  /// The inputs of linear layers.
  private final class Inputs: LinearObserver {
    let seen = Mutex<[LinearKind: [Float]]>([:])
    func observe(layer: Int, kind: LinearKind, input: borrowing Matrix, output: borrowing Matrix) {
      let values = input.values
      seen.withLock { $0[kind] = values }
    }
  }

  @Test(
    "branches one after the other are the layer, bit for bit, though other texts come between",
    arguments: ["llama", "afm7", "gpt_neox", "gemma2"])
  func branches(family: String) throws {
    let decoder = try makeDecoder(family)
    let configuration = decoder.configuration
    var runner = ModelRunner(
      decoder, ModelRunner.Limits(rows: Self.tokens.count, segments: 2), precision: .float32, on: Compute(threads: 2))
    func begin(_ runner: inout ModelRunner, _ tokens: [Int32], _ lengths: [Int]) {
      runner.removeAll()
      var start = 0
      for length in lengths {
        runner.append(tokens.span.extracting(start..<start + length), start: start)
        start += length
      }
    }
    begin(&runner, Self.tokens, Self.lengths)
    decoder.forward(&runner, through: configuration.layers)
    let expected = runner.stream.values
    decoder.forward(&runner)
    let expectedHidden = runner.hidden.values
    decoder.forward(&runner, through: 0)
    var stream = runner.stream.values
    var source = stream
    func matrix(_ values: [Float]) -> Matrix {
      Matrix(rows: values.count / configuration.hiddenSize, columns: configuration.hiddenSize, values: values)
    }
    for layer in 0..<configuration.layers {
      for branches in decoder.steps(of: layer) {
        begin(&runner, Self.tokens.reversed(), [Self.tokens.count])
        decoder.forward(&runner)
        begin(&runner, Self.tokens, Self.lengths)
        if layer == configuration.keyValueLayers - 1, branches.contains(0) { source = stream }
        if layer >= configuration.keyValueLayers, branches.contains(0) {
          decoder.read(&runner, layer: configuration.keyValueLayers - 1, branch: 0, from: matrix(source), preparing: true)
        }
        let inputs = Inputs()
        runner.observe(with: inputs)
        decoder.forward(&runner, layer: layer, branches: branches, from: matrix(stream))
        runner.observe(with: nil)
        let next = runner.stream.values
        for branch in branches {
          decoder.read(&runner, layer: layer, branch: branch, from: matrix(stream))
          let (first, last) = decoder.linears(of: layer, branch: branch)
          for parameter in first {
            guard case .linear(let kind) = parameter.role else { continue }
            #expect(inputs.seen.withLock { $0[kind] } == runner.hidden.values, "layer \(layer), \(kind)")
          }
          if case .linear(let kind) = last.role { #expect(kind == (branch == 0 ? .output : .down)) }
        }
        stream = next
      }
    }
    #expect(stream == expected)
    begin(&runner, Self.tokens, Self.lengths)
    decoder.normalize(&runner, from: matrix(stream))
    #expect(runner.hidden.values == expectedHidden)
  }

  /// With `G` at a layer the loss is the old one and `Σ G ⊙ x` of the stream there, so gradients add up.
  @Test("a gradient put in at a layer adds its own", arguments: ["llama", "afm7", "gpt_neox", "gemma2"], [Recording.all, .last(1)])
  func injection(family: String, recording: Recording) throws {
    let decoder = try makeDecoder(family)
    var adapter = makeAdapter(decoder.weights)
    let shape = adapter.configuration
    let list = TrainableList(decoder.weights, adapter: adapter.layout, includesWeights: true)
    func makePasses() -> GradientRunner {
      GradientRunner(
        decoder, rows: Self.tokens.count, sequences: Self.lengths.count, adapter: shape, training: list, recording: recording,
        on: Compute(threads: 2))
    }
    let layers = decoder.configuration.layers
    let weights = [Float](repeating: 0.25, count: Self.tokens.count)
    var rng = SplitMix64(seed: 5)
    let injected = (0..<Self.tokens.count * decoder.configuration.hiddenSize).map { _ in rng.uniform(bound: 0.1) }
    /// The gradients of the loss, of the injection at `cut`, or of both.
    func gradients(_ cut: Int, loss: Bool, injection: Bool) -> [[Float]] {
      var passes = makePasses()
      passes.forward(Self.tokens.span, lengths: Self.lengths, decoder, adapter: &adapter)
      passes.runner.exchange(&adapter)
      _ = passes.beginBackward(targets: Self.targets.span, weights: weights.span, decoder)
      if loss {
        decoder.beginBackward(&passes.runner, &passes.backward)
        decoder.backward(&passes.runner, layers: cut..<layers, &passes.backward)
      } else {
        passes.backward.dStream.fill(0)
        passes.backward.work.gradients.clear()
      }
      if injection {
        let columns = passes.backward.dStream.columns
        for i in injected.indices { passes.backward.dStream[i / columns, i % columns] += injected[i] }
      }
      decoder.backward(&passes.runner, layers: 0..<cut, &passes.backward)
      decoder.endBackward(passes.runner, &passes.backward)
      passes.runner.exchange(&adapter)
      return (0..<passes.backward.work.gradients.values.count).map { passes.backward.work.gradients.values[$0].values }
    }
    var passes = makePasses()
    passes.forward(Self.tokens.span, lengths: Self.lengths, decoder, adapter: &adapter)
    _ = passes.beginBackward(targets: Self.targets.span, weights: weights.span, decoder)
    passes.endBackward(decoder, adapter: &adapter)
    let whole = (0..<passes.backward.work.gradients.values.count).map { passes.backward.work.gradients.values[$0].values }
    for cut in 1..<layers {
      let plain = gradients(cut, loss: true, injection: false)
      #expect(plain == whole, "cut at \(cut)")
      let (alone, both) = (gradients(cut, loss: false, injection: true), gradients(cut, loss: true, injection: true))
      #expect(alone.contains { $0.contains { $0 != 0 } })
      for index in both.indices where both[index].contains(where: { $0 != 0 }) {
        let sum = zip(plain[index], alone[index]).map { $0 + $1 }
        #expect(relativeNorm(both[index], sum) <= 2e-5, "cut at \(cut), \(list.entries[index].name)")
      }
    }
  }

  /// Keeps what it is shown.
  private final class Recorder: LinearObserver {
    struct Seen: Sendable {
      let layer: Int
      let kind: LinearKind
      let input: [Float]
      let output: [Float]
    }
    let seen = Mutex<[Seen]>([])
    func observe(layer: Int, kind: LinearKind, input: borrowing Matrix, output: borrowing Matrix) {
      let one = Seen(layer: layer, kind: kind, input: input.values, output: output.values)
      seen.withLock { $0.append(one) }
    }
  }

  @Test(
    "an observer sees what goes into and comes out of each linear layer once", arguments: ["llama", "afm7", "gpt_neox", "phi3", "gpt2"])
  func observer(family: String) throws {
    let decoder = try makeDecoder(family)
    let compute = Compute(threads: 2)
    var runner = ModelRunner(decoder, ModelRunner.Limits(rows: 5, segments: 1), precision: .float32, on: compute)
    let recorder = Recorder()
    runner.observe(with: recorder)
    runner.append(Self.tokens.span.extracting(first: 5), start: 0)
    decoder.forward(&runner)
    let seen = recorder.seen.withLock { $0 }
    let expected = decoder.weights.parameters.count { if case .linear = $0.role { true } else { false } }
    #expect(seen.count == expected && expected > 0)
    #expect(Set(seen.map { "\($0.layer) \($0.kind)" }).count == expected)
    for item in seen {
      let weight = try #require(decoder.weights.linear(item.kind, item.layer)).weight
      var y = Matrix(rows: 5, columns: weight.rows)
      Linear.forward(Matrix(rows: 5, columns: weight.columns, values: item.input), weight: weight, into: &y, on: compute)
      let declaration = DecoderWeights.declarations(of: decoder.configuration).parameters.firstIndex {
        $0.role == .linearBias(item.kind) && $0.layer == item.layer
      }
      if let declaration { Bias.forward(decoder.weights.parameters[declaration].weight, into: &y, on: compute) }
      #expect(y.values == item.output, "layer \(item.layer), \(item.kind)")
    }
  }

  /// Keeps the products of what it is shown on the way back.
  private final class GradientRecorder: LinearObserver {
    /// Of each layer, `gᵀ x`.
    let products = Mutex<[String: [Float]]>([:])

    func observe(layer: Int, kind: LinearKind, input: borrowing Matrix, gradient: borrowing Matrix) {
      var product = Matrix(rows: gradient.columns, columns: input.columns)
      Gemm.tn(gradient, input, into: &product, on: Compute(threads: 1))
      let values = product.values
      products.withLock { $0["\(layer) \(kind)"] = values }
    }
  }

  @Test(
    "on the way back an observer sees of each linear layer what its weight's gradient is the product of",
    arguments: ["llama", "afm7", "gpt_neox", "phi3", "gpt2", "gemma2"], [Recording.all, .last(1)])
  func gradientObserver(family: String, recording: Recording) throws {
    let decoder = try makeDecoder(family)
    let list = TrainableList(decoder.weights, adapter: nil, includesWeights: true)
    var passes = GradientRunner(
      decoder, rows: Self.tokens.count, sequences: Self.lengths.count, adapter: nil, training: list, recording: recording,
      on: Compute(threads: 2))
    let recorder = GradientRecorder()
    passes.runner.observe(with: recorder)
    var adapter = Adapter.none(for: decoder.weights)
    let weights = [Float](repeating: 0.25, count: Self.tokens.count)
    passes.forward(Self.tokens.span, lengths: Self.lengths, decoder, adapter: &adapter)
    _ = passes.beginBackward(targets: Self.targets.span, weights: weights.span, decoder)
    passes.endBackward(decoder, adapter: &adapter)
    var found = recorder.products.withLock { $0 }
    for layer in 0..<decoder.configuration.layers {
      for kind in LinearKind.allCases {
        guard let parameter = decoder.weights.linear(kind, layer) else { continue }
        let seen = found.removeValue(forKey: "\(layer) \(kind)")
        let product = try #require(seen)
        let entry = try #require(list.weight(parameter.index))
        let gradient = passes.backward.work.gradients.values[entry].values
        #expect(relativeNorm(product, gradient) <= 1e-5, "layer \(layer), \(kind)")
      }
    }
    #expect(found.isEmpty)
  }
}
