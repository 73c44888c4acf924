import BasicContainers
import DibitCheckpoint
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTensor
import Testing

/// Each family against logits, losses and gradients that an independent implementation computed: see Tests/Fixtures/MANIFEST.json.
@Suite struct ParityTests {
  static let folder = String(#filePath.dropLast("ParityTests/ParityTests.swift".count)) + "Fixtures/parity"
  static let families = ["llama", "afm7"]

  @Test("logits within 1e-4 of their standard deviation", arguments: families, [1, 2])
  func logits(family: String, threads: Int) throws {
    var run = try ReferenceRun(family, compute: Compute(threads: threads))
    run.forward()
    #expect(run.relativeError(of: run.logits.values, "logits") <= 1e-4)
  }

  @Test func lossAndEveryGradient() throws {
    var run = try ReferenceRun("llama", compute: Compute(threads: 2))
    let loss = run.backward(includesWeights: true)
    #expect(abs(loss - Double(run.scalar("loss"))) <= 1e-5 * abs(loss))
    for parameter in run.decoder.weights.parameters {
      let error = run.relativeError(of: run.gradients.weights[parameter.index].values, "grad." + parameter.name.tensor)
      #expect(error <= 1e-3, "\(parameter.name.tensor): \(error)")
    }
  }

  @Test func everyAdapterGradient() throws {
    var run = try ReferenceRun("llama", compute: Compute(threads: 2), adapter: true)
    let loss = run.backward(includesWeights: false)
    #expect(abs(loss - Double(run.scalar("lora_loss"))) <= 1e-5 * abs(loss))
    run.forward()
    #expect(run.relativeError(of: run.logits.values, "lora_logits") <= 1e-4)
    #expect(run.adapter.count == run.decoder.configuration.layers * LinearKind.allCases.count)
    for entry in 0..<run.adapter.count {
      let module = run.adapter.modules[entry]
      let a = run.relativeError(of: run.gradients.adapter.a[entry].values, "lora_grad.\(module).A")
      let b = run.relativeError(of: run.gradients.adapter.b[entry].values, "lora_grad.\(module).B")
      #expect(a <= 1e-3, "\(module).A: \(a)")
      #expect(b <= 1e-3, "\(module).B: \(b)")
    }
  }

  @Test("an adapter whose B is zero gives the base's logits bit for bit", arguments: families)
  func zeroAdapter(family: String) throws {
    var base = try ReferenceRun(family, compute: Compute(threads: 2))
    base.forward()
    var configuration = AdapterConfiguration()
    configuration.rank = 8
    var adapted = try ReferenceRun(family, compute: Compute(threads: 2), configuration: configuration)
    adapted.forward()
    #expect(base.logits.values == adapted.logits.values)
  }

  @Test("decoding token by token agrees with the whole prompt", arguments: families)
  func decoding(family: String) throws {
    var run = try ReferenceRun(family, compute: Compute(threads: 2))
    run.forward()
    let whole = run.logits.values
    let stepwise = run.decodeStepwise(row: 0)
    let n = run.columns * run.decoder.configuration.vocabularySize
    #expect(worstRelativeError(stepwise, Array(whole.prefix(n))) <= 1e-4)
  }
}

/// The worst difference over the standard deviation of what is expected.
func worstRelativeError(_ found: [Float], _ expected: [Float]) -> Double {
  guard found.count == expected.count, !expected.isEmpty else { return .infinity }
  let count = Double(expected.count)
  let mean = expected.reduce(0.0) { $0 + Double($1) } / count
  let deviation = (expected.reduce(0.0) { $0 + (Double($1) - mean) * (Double($1) - mean) } / count).squareRoot()
  let worst = zip(found, expected).reduce(0.0) { max($0, abs(Double($1.0) - Double($1.1))) }
  return worst / max(deviation, 1e-12)
}
