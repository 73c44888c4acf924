internal import ArgumentParser
internal import DibitModelStore
internal import DibitVerification

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check that the files of a model or an adapter are whole, or compare a model with a reference.",
    discussion: """
      Example: dibit verify ./model
      Example: dibit verify ./checkpoint --reference reference.safetensors --gradients

      Alone, it reads every byte: the SHA-256 of each file that manifest.json names, the shapes of all tensors, whether all numbers are \
      finite, the tokenizer, the chat template. What is wrong is told, and the exit status is 65, or 66 where a file is missing. \
      What has no digest, such as a GGUF file, is not called whole; --json then says "whole": null.

      The reference is a safetensors file that another implementation wrote: input_ids and logits, and where they are to be compared
      labels, loss, grad.<parameter>, lora.<module>.A, lora.<module>.B, lora_logits, lora_loss and lora_grad.<module>.A and .B.
      The logits' error is the worst difference over the standard deviation of the reference's logits; a gradient's is the norm of the
      difference over the norm of the reference; --tolerance makes either a matter of the exit status. SOURCE is anything that 'dibit convert' reads, or a converted model.
      """)

  @Argument(help: "A checkpoint of any kind, a converted model, or without --reference an adapter.") var source: String
  @Option(help: "The file with what the other implementation computed.") var reference: String?
  @Flag(help: "Compare gradients too.") var gradients = false
  @Option(help: "The lora_alpha of the reference's adapter, which is scaled by it over its rank.") var alpha = 8.0
  @Option(
    help: ArgumentHelp("Exit with status 3 when the logits, or a gradient, differ by more than this share: 1e-3 is 0.1 %.", valueName: "x"))
  var tolerance: Double?
  @Flag(help: "Print the result as JSON.") var json = false
  @OptionGroup var compute: RuntimeOptions

  func validate() throws {
    if reference == nil, gradients || tolerance != nil {
      throw ValidationError("--\(gradients ? "gradients" : "tolerance"): expected --reference beside it")
    }
    guard alpha > 0, alpha <= 1_048_576 else { throw ValidationError("--alpha: expected a positive number, found \(alpha)") }
    if let tolerance, !(tolerance >= 0) { throw ValidationError("--tolerance: expected a number from 0 on, found \(tolerance)") }
  }

  func run() throws {
    Interrupt.listen()
    guard let reference else { return try inspect() }
    let compute = try compute.makeCompute()
    let report = try Failure.context("verifying '\(source)'") {
      let model = try ModelSource.open(source)
      var verifier = Verifier(model.configuration, weights: try model.weights(), on: compute)
      verifier.comparesGradients = gradients
      verifier.alpha = Float(alpha)
      return try verifier.run(reference: reference)
    }
    if json {
      printJSON(report.json)
    } else {
      show(report.base, "the model")
      if let adapted = report.adapted { show(adapted, "\nwith the reference's adapter") }
    }
    let runs = [report.base, report.adapted].compactMap(\.self)
    if gradients, tolerance != nil, !runs.contains(where: { $0.gradients?.isEmpty == false }) {
      throw Failure(.badData, "'\(reference)' has no gradients, so that none can keep --tolerance; leave out --gradients")
    }
    for run in runs { try check(run) }
  }

  /// Looks at every file, and fails with the first fault.
  private func inspect() throws {
    let inspection = try Failure.context("verifying '\(source)'") { try StoreInspection(source) { Interrupt.isRequested } }
    guard !Interrupt.isRequested else { throw Failure(.interrupted, "interrupted; nothing was found out") }
    if json {
      printJSON(inspection.json)
    } else {
      printColumns(
        inspection.items.map {
          [$0.file, $0.what, $0.fault == nil ? "ok" : "WRONG", $0.fault.map { Advice.sentence(of: $0) } ?? $0.detail]
        })
    }
    if let fault = inspection.fault { throw fault }
    guard !json else { return }
    let kind = inspection.kind.rawValue
    Output.print(
      inspection.hasDigest
        ? "the \(kind) is whole" : "no fault found; the \(kind) comes without a digest, so that a changed byte may go unnoticed")
  }

  /// Columns that are all aligned to the left.
  private func printColumns(_ rows: [[String]]) {
    let widths = (0..<3).map { column in rows.map { $0[column].count }.max() ?? 0 }
    for row in rows {
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
      Output.print((cells + row.suffix(1)).joined(separator: "  "))
    }
  }

  private func check(_ run: VerificationReport.Run) throws {
    guard let tolerance else { return }
    // Not a comparison that a NaN passes.
    guard run.logitsRelativeError <= tolerance else {
      throw Failure(.unmet, "the logits differ by \(error(run.logitsRelativeError)), more than --tolerance \(tolerance)")
    }
    for gradient in run.gradients ?? [] where !(gradient.relativeError <= tolerance) {
      throw Failure(
        .unmet, "the gradient of '\(gradient.name)' differs by \(error(gradient.relativeError)), more than --tolerance \(tolerance)")
    }
  }

  private func show(_ run: VerificationReport.Run, _ title: String) {
    Output.print(
      "\(title): logits differ by \(error(run.logitsRelativeError)) at worst, \(error(run.logitsRMSError)) RMS, of their deviation")
    if let loss = run.loss {
      Output.print("loss \(decimal(loss, 6))" + (run.lossReference.map { ", reference \(decimal($0, 6))" } ?? ""))
    }
    guard let gradients = run.gradients else { return }
    guard let worst = run.worstGradient else { return Output.print("the reference has no gradients to compare") }
    Output.print("\(gradients.count) gradients, the worst \(error(worst.relativeError)):")
    printTable(gradients.sorted { $0.relativeError > $1.relativeError }.prefix(10).map { ["  " + $0.name, error($0.relativeError)] })
  }

  /// Two digits with an exponent: errors span many orders of magnitude.
  private func error(_ value: Double) -> String {
    guard value.isFinite, value > 0 else { return "\(value)" }
    var (mantissa, exponent) = (value, 0)
    while mantissa < 1 { (mantissa, exponent) = (mantissa * 10, exponent - 1) }
    while mantissa >= 10 { (mantissa, exponent) = (mantissa / 10, exponent + 1) }
    return decimal(mantissa, 1) + "e\(exponent)"
  }
}
