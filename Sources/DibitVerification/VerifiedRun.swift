internal import BasicContainers
internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// A model with an adapter or none, on a reference's batch.
struct VerifiedRun: ~Copyable {
  let decoder: Decoder
  private var adapter: Adapter
  private var passes: GradientRunner

  init(
    _ configuration: ModelConfiguration, _ weights: DecoderWeights, _ reference: Reference, adapter: consuming Adapter,
    training list: TrainableList, _ compute: Compute
  ) {
    decoder = Decoder(configuration, weights: weights)
    passes = GradientRunner(
      decoder, rows: reference.tokens.count, sequences: reference.sequences, adapter: adapter.configuration, training: list, on: compute)
    self.adapter = adapter
  }

  /// Runs the batch forward and compares logits and loss with the tensors whose names begin with `prefix`.
  mutating func compare(_ prefix: String, _ reference: Reference) throws(VerificationError) -> VerificationReport.Run {
    let vocabulary = decoder.configuration.vocabularySize
    let expected = try reference.values(prefix + "logits", [reference.sequences, reference.columns, vocabulary])
    let tokens = reference.tokens
    let lengths = [Int](repeating: reference.columns, count: reference.sequences)
    passes.forward(tokens.span, lengths: lengths, decoder, adapter: &adapter)
    var logits = Matrix(rows: tokens.count, columns: vocabulary)
    decoder.logits(in: &passes.runner, into: &logits)
    let (worst, rms) = Distance.overDeviation(logits.values, expected)
    var run = VerificationReport.Run(logitsRelativeError: worst, logitsRMSError: rms)
    run.lossReference = try reference.scalar(prefix + "loss")
    guard let targets = reference.targets else { return run }
    run.loss = passes.loss(targets: targets.span, weights: Self.shares(targets).span, decoder)
    return run
  }

  /// Calls `body` with the gradients of the mean loss of the batch that ran forward last.
  mutating func backward<Result>(
    _ targets: [Int32], _ body: (borrowing TrainableTensors) throws(VerificationError) -> Result
  ) throws(VerificationError) -> Result {
    _ = passes.beginBackward(targets: targets.span, weights: Self.shares(targets).span, decoder)
    passes.endBackward(decoder, adapter: &adapter)
    return try body(passes.backward.work.gradients)
  }

  /// Returns the share of each position in the mean over those with a label.
  private static func shares(_ targets: [Int32]) -> [Float] {
    let labelled = targets.reduce(0) { $0 + ($1 >= 0 ? 1 : 0) }
    return [Float](repeating: 1 / Float(max(labelled, 1)), count: targets.count)
  }
}
