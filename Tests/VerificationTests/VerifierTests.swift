import DibitCheckpoint
import DibitJSON
import DibitKernels
import DibitModelStore
import DibitTensor
import DibitTestSupport
import Testing

@testable import DibitVerification

/// The verifier against references whose faults are known.
@Suite struct VerifierTests {
  private static let fixture = String(#filePath.dropLast("VerificationTests/VerifierTests.swift".count)) + "Fixtures/parity/llama"
  private let scratch = Scratch()

  private func verifier(gradients: Bool = true) throws -> Verifier {
    let source = try ModelSource.open(Self.fixture)
    var verifier = Verifier(source.configuration, weights: try source.weights(), on: Compute(threads: 2))
    verifier.comparesGradients = gradients
    return verifier
  }

  /// The fixture's reference after `change` saw its tensors, name by name.
  private func reference(_ change: (String, inout [Int], inout [Float]) -> Bool) throws -> String {
    let original = try Checkpoint.open(Self.fixture + "/reference.safetensors")
    var tensors: [(name: String, shape: [Int], values: [Float])] = []
    for name in original.tensorNames {
      var (shape, values) = (try original.tensor(name).shape, try original.readVector(name))
      if change(name, &shape, &values) { tensors.append((name, shape, values)) }
    }
    let path = scratch("reference")
    try? scratch.remove("reference")
    var writer = try SafetensorsWriter(path: path, tensors: tensors.map { (name: $0.name, dtype: .f32, shape: $0.shape) }, metadata: [])
    for tensor in tensors { try writer.append(floats: tensor.values.span, as: .f32) }
    _ = try writer.finalize()
    return path
  }

  @Test func theFixtureHolds() throws {
    let report = try verifier().run(reference: Self.fixture + "/reference.safetensors")
    let adapted = try #require(report.adapted)
    for run in [report.base, adapted] {
      #expect(run.logitsRelativeError < 1e-4 && run.logitsRMSError <= run.logitsRelativeError)
      #expect(abs(try #require(run.loss) - (try #require(run.lossReference))) < 1e-5)
      #expect(try #require(run.worstGradient).relativeError < 1e-3)
    }
    #expect(report.base.gradients?.count == 20 && adapted.gradients?.count == 28)
  }

  @Test func aDoubledGradientIsOneHalfOff() throws {
    let name = "grad.model.layers.1.mlp.down_proj.weight"
    let path = try reference { found, _, values in
      if found == name { values = values.map { $0 * 2 } }
      return true
    }
    let report = try verifier().run(reference: path)
    #expect(report.base.worstGradient?.name == "model.layers.1.mlp.down_proj.weight")
    #expect(abs((report.base.worstGradient?.relativeError ?? 0) - 0.5) < 1e-4)
  }

  @Test func oneLogitThatIsOffIsSeen() throws {
    let path = try reference { name, _, values in
      if name == "logits" { values[77] += 1 }
      return true
    }
    let report = try verifier(gradients: false).run(reference: path)
    #expect(report.base.logitsRelativeError > 0.1 && report.base.logitsRMSError < 0.1)
    #expect(report.base.gradients == nil)
  }

  @Test func notANumberIsAnError() throws {
    let path = try reference { name, _, values in
      if name == "logits" { values[3] = .nan }
      return true
    }
    let verifier = try verifier(gradients: false)
    do throws(VerificationError) {
      _ = try verifier.run(reference: path)
      Issue.record("a reference with a NaN was compared")
    } catch {
      #expect(
        error.description
          == "'\(path)': tensor 'logits', element 3: a finite number expected, nan found; nothing can be compared with it")
    }
  }

  @Test func onlyLogitsAreNeeded() throws {
    let path = try reference { name, _, _ in name == "input_ids" || name == "logits" }
    let report = try verifier(gradients: false).run(reference: path)
    #expect(report.base.loss == nil && report.adapted == nil && report.base.logitsRelativeError < 1e-4)
    #expect(try verifier().run(reference: path).base.gradients == [])
    let unlabelled = try reference { name, _, _ in name != "labels" }
    #expect(throws: VerificationError.missing(tensor: "labels", reference: path)) { try verifier().run(reference: unlabelled) }
  }

  @Test func referencesThatDoNotFit() throws {
    func error(_ change: @escaping (String, inout [Int], inout [Float]) -> Bool) throws -> VerificationError? {
      let path = try reference(change)
      let verifier = try verifier()
      do throws(VerificationError) { _ = try verifier.run(reference: path) } catch { return error }
      return nil
    }
    let path = scratch("reference")
    #expect(try error { name, _, _ in name != "logits" } == .missing(tensor: "logits", reference: path))
    #expect(try error { name, _, _ in name != "input_ids" } == .missing(tensor: "input_ids", reference: path))
    let outside = try error { name, _, values in
      if name == "input_ids" { values[5] = 1e6 }
      return true
    }
    guard case .tokenOutside("input_ids", index: 5, token: 1e6, _) = outside else {
      Issue.record("\(String(describing: outside))")
      return
    }
    for tensor in ["logits", "loss", "grad.model.norm.weight"] {
      let broken = try error { name, _, values in
        if name == tensor { values[0] = .infinity }
        return true
      }
      #expect(broken == .notFinite(tensor: tensor, reference: path, index: 0, found: .infinity))
    }
    #expect(
      VerificationError.notFinite(tensor: "logits", reference: "r", index: 3, found: .nan).description
        == "'r': tensor 'logits', element 3: a finite number expected, nan found; nothing can be compared with it")
    let masked = try error { name, _, values in
      if name == "labels" { values = values.map { _ in -100 } }
      return true
    }
    #expect(masked == .nothingLabelled(reference: path))
    let flat = try error { name, shape, _ in
      if name == "input_ids" { shape = [shape[0] * shape[1]] }
      return true
    }
    #expect(flat == .shape(tensor: "input_ids", reference: path, expected: "[sequences, tokens]", found: [48]))
  }
}
