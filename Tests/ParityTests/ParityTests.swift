import BasicContainers
import DibitCheckpoint
import DibitKernels
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTestSupport
import Testing

/// Each family against logits, losses and gradients that an independent implementation computed: see Tests/Fixtures/MANIFEST.json.
@Suite struct ParityTests {
  static let folder = String(#filePath.dropLast("ParityTests/ParityTests.swift".count)) + "Fixtures/parity"
  /// Families whose reference has gradients and an adapter.
  static let trained = [
    "llama", "llama3", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "smollm3", "phi3", "olmo2", "gpt2", "gpt_neox",
  ]
  /// Other configurations of families, with gradients.
  static let variants = [
    "gemma", "gemma3_linear", "gpt2_unscaled", "gpt_neox_sequential", "llama_biases", "llama_dynamic", "mistral_full", "olmo2_biases",
    "phi3_longrope", "qwen2_yarn", "smollm3_window",
  ]
  static let families = trained + variants + ["afm7"]

  /// What is promised is 1e-4 of a standard deviation for logits and 1e-3 for gradients; a wrong formula fails both, a lost digit this.
  static let tolerance = 2e-5

  @Test("logits within 2e-5 of their standard deviation", arguments: families)
  func logits(family: String) throws {
    var outputs: [[Float]] = []
    for threads in [1, 2] {
      var run = try ReferenceRun(family, compute: Compute(threads: threads))
      run.forward()
      #expect(run.relativeError(of: run.logits.values, "logits") <= Self.tolerance)
      outputs.append(run.logits.values)
    }
    #expect(outputs[0] == outputs[1])
  }

  @Test("loss and every gradient", arguments: trained + variants)
  func gradients(family: String) throws {
    var run = try ReferenceRun(family, compute: Compute(threads: 2))
    let loss = run.backward()
    #expect(abs(loss - Double(run.scalar("loss"))) <= 1e-6 * abs(loss))
    var compared = 0
    for parameter in run.decoder.weights.parameters {
      let (name, weight) = (parameter.name, parameter.weight)
      let tensor = try #require(([name.tensor] + name.alternatives).first { run.reference.info("grad." + $0) != nil }, "\(name.tensor)")
      let shape = name.layout.shape(rows: weight.rows, columns: weight.columns)
      #expect(run.reference.info("grad." + tensor)?.shape == shape)
      let found = name.layout.toCheckpoint(
        run.gradient { $0.weight(parameter.index) ?? 0 }, rows: weight.rows, columns: weight.columns)
      let error = try relativeNorm(found, run.reference.readVector("grad." + tensor))
      #expect(error <= Self.tolerance, "\(tensor): \(error)")
      compared += 1
    }
    #expect(run.reference.tensorNames.count { $0.hasPrefix("grad.") } == compared)
  }

  @Test("loss, logits and every gradient of an adapter that PEFT wrote", arguments: trained)
  func adapterGradients(family: String) throws {
    var run = try ReferenceRun(family, compute: Compute(threads: 2), adapter: true)
    let loss = run.backward()
    #expect(abs(loss - Double(run.scalar("lora_loss"))) <= 1e-6 * abs(loss))
    run.forward()
    #expect(run.relativeError(of: run.logits.values, "lora_logits") <= Self.tolerance)
    #expect(run.adapter.count == run.decoder.weights.parameters.count { if case .linear = $0.role { true } else { false } })
    for entry in 0..<run.adapter.count {
      let module = run.adapter.modules[entry]
      let a = try relativeNorm(run.gradient { $0.a(entry) }, run.reference.readVector("lora_grad.\(module).A"))
      let b = try relativeNorm(
        run.adapter.layouts[entry].toCheckpoint(
          run.gradient { $0.b(entry) }, rows: run.adapter.b[entry].rows, columns: run.adapter.b[entry].columns),
        run.reference.readVector("lora_grad.\(module).B"))
      // What was read goes back in the order of the file.
      #expect(try run.adapter.checkpointB(entry) == run.reference.readVector("lora.\(module).B"))
      #expect(a <= Self.tolerance, "\(module).A: \(a)")
      #expect(b <= Self.tolerance, "\(module).B: \(b)")
    }
    #expect(run.reference.tensorNames.count { $0.hasPrefix("lora_grad.") } == 2 * run.adapter.count)
  }

  @Test("layers that are computed again give the same gradients bit for bit", arguments: families)
  func recomputation(family: String) throws {
    var configuration = AdapterConfiguration()
    configuration.rank = 4
    func gradients(_ recording: Recording) throws -> [[Float]] {
      var run = try ReferenceRun(family, compute: Compute(threads: 2), configuration: configuration, recording: recording)
      _ = run.backward()
      return run.gradients
    }
    let expected = try gradients(.all)
    #expect(expected.contains { $0.contains { $0 != 0 } })
    for kept in [0, 1] { #expect(try gradients(.last(kept)) == expected, "\(kept) layers kept") }
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
    let n = run.columns * run.decoder.configuration.vocabularySize
    #expect(worstRelativeError(run.decodeStepwise(row: 0), Array(whole.prefix(n))) <= Self.tolerance)
    // With the first tokens in rows of their own, which a window of a few tokens leaves behind.
    #expect(worstRelativeError(run.decodeStepwise(row: 0, prefix: 5), Array(whole.prefix(n))) <= Self.tolerance)
  }

  @Test("rows that are asked for agree with the whole pass", arguments: families)
  func wantedRows(family: String) throws {
    var run = try ReferenceRun(family, compute: Compute(threads: 2))
    run.forward()
    let (whole, vocabulary, columns) = (run.logits.values, run.decoder.configuration.vocabularySize, run.columns)
    func expected(_ rows: [Int]) -> [Float] { rows.flatMap { whole[$0 * vocabulary..<($0 + 1) * vocabulary] } }
    let last = (0..<run.sequences).map { ($0 + 1) * columns - 1 }
    let some = [0, 3, 4, run.columns - 1, run.columns]
    let all = Array(0..<run.sequences * run.columns)
    #expect(worstRelativeError(run.selectedLogits(.last, rows: last), expected(last)) <= Self.tolerance)
    #expect(worstRelativeError(run.selectedLogits(.rows(some), rows: some), expected(some)) <= Self.tolerance)
    #expect(run.selectedLogits(.rows(all), rows: all) == run.selectedLogits(.all, rows: all))
    #expect(worstRelativeError(run.selectedLogits(.last, rows: last, fork: true), expected(last)) <= Self.tolerance)
  }

  /// Rounding to halves moves a key by at most 2^-12 of its size, to int8 by at most 1/254 of its head's largest; what logits make of it
  /// is measured, and bounded at about twice the worst family.
  @Test("coarser caches move logits a little", arguments: families)
  func cachePrecision(family: String) throws {
    let run = try ReferenceRun(family, compute: Compute(threads: 2))
    let all = Array(0..<run.sequences * run.columns)
    let exact = run.selectedLogits(.all, rows: all)
    for (precision, bound) in [(KeyValuePrecision.float16, 1.4e-3), (.int8, 3e-2)] {
      let found = run.selectedLogits(.all, rows: all, precision: precision)
      let error = relativeNorm(found, exact)
      #expect(error <= bound, "\(precision): \(error)")
      // Static scales are the model's own: no precision changes them.
      #expect((found == exact) == (run.decoder.configuration.quantizesKeyValues))
    }
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
