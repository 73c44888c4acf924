internal import BasicContainers
internal import DibitCheckpoint
package import DibitKernels
package import DibitModel
internal import DibitModelStore
internal import DibitTensor

/// Runs a reference's batch through a model and compares logits, loss and gradients.
///
/// The reference is a tensor file with `input_ids [n, t]`, `logits [n, t, V]` and, where they are to be compared, `labels [n, t]` (aligned
/// with the tokens, negative where masked), `loss`, `grad.<parameter>`, `lora.<module>.A|B`, `lora_logits`, `lora_loss` and
/// `lora_grad.<module>.A|B`, with Hugging Face names.
package struct Verifier: Sendable {
  /// True when gradients are compared as well.
  package var comparesGradients = false
  /// The factor by which the reference's adapter is scaled, over its rank.
  package var alpha: Float = 8

  private let configuration: ModelConfiguration
  private let weights: DecoderWeights
  private let compute: Compute

  /// A verifier of the model with these weights.
  package init(_ configuration: ModelConfiguration, weights: DecoderWeights, on compute: Compute) {
    self.configuration = configuration
    self.weights = weights
    self.compute = compute
  }

  /// Compares the model with the reference at `path`.
  package func run(reference path: String) throws(VerificationError) -> VerificationReport {
    let reference = try Reference(path: path, for: configuration)
    let (weightNames, adapterNames) = (reference.names("grad."), reference.names("lora_grad."))
    if comparesGradients, !weightNames.isEmpty || !adapterNames.isEmpty, reference.targets == nil {
      throw .missing(tensor: "labels", reference: path)
    }
    let all = TrainableList(weights, adapter: nil, includesWeights: comparesGradients && !weightNames.isEmpty)
    var base = VerifiedRun(configuration, weights, reference, adapter: .none(for: weights), training: all, compute)
    var report = VerificationReport(base: try base.compare("", reference))
    if comparesGradients { report.base.gradients = [] }
    if comparesGradients, !weightNames.isEmpty, let targets = reference.targets {
      report.base.gradients = try base.backward(targets) { gradients throws(VerificationError) in
        try GradientComparison(reference).ofWeights(weightNames, gradients, weights)
      }
    }
    guard reference.checkpoint.info("lora_logits") != nil else { return report }
    let adapter = try adapter(reference)
    let layout = adapter.layout
    let list = TrainableList(weights, adapter: layout, includesWeights: false)
    var adapted = VerifiedRun(configuration, weights, reference, adapter: adapter, training: list, compute)
    var run = try adapted.compare("lora_", reference)
    if comparesGradients { run.gradients = [] }
    if comparesGradients, !adapterNames.isEmpty, let targets = reference.targets {
      run.gradients = try adapted.backward(targets) { gradients throws(VerificationError) in
        try GradientComparison(reference).ofAdapter(adapterNames, gradients, layout)
      }
    }
    report.adapted = run
    return report
  }

  /// The adapter whose matrices the reference holds.
  private func adapter(_ reference: Reference) throws(VerificationError) -> Adapter {
    do throws(ModelStoreError) {
      return try AdapterSource.named(reference.checkpoint, prefix: "lora.", a: ".A", b: ".B", alpha: alpha, path: reference.path)
        .adapter(for: weights, on: compute)
    } catch { throw .store(error) }
  }
}
