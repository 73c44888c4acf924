internal import BasicContainers
internal import DibitKernels
internal import DibitModel
internal import DibitTensor

/// A model with an adapter or none, on a reference's batch.
struct VerifiedRun: ~Copyable {
  let decoder: Decoder
  private let adapter: Adapter
  private let compute: Compute
  private var state: DecoderState
  private var cache: KeyValueCache
  private var segments: Segments

  init(
    _ configuration: ModelConfiguration, _ weights: DecoderWeights, _ reference: Reference, adapter: consuming Adapter, _ compute: Compute
  ) {
    let rows = reference.tokens.count
    let rank = adapter.configuration.rank
    decoder = Decoder(configuration, weights: weights)
    self.compute = compute
    state = DecoderState(configuration, capacity: rows, rank: rank, recording: .all)
    cache = KeyValueCache(configuration, weights: weights, capacity: rows, forTraining: true)
    segments = Segments(capacity: reference.sequences)
    for sequence in 0..<reference.sequences { segments.append(rows: reference.columns, start: sequence * reference.columns) }
    self.adapter = adapter
  }

  /// Runs the batch forward and compares logits and loss with the tensors whose names begin with `prefix`.
  mutating func compare(_ prefix: String, _ reference: Reference) throws(VerificationError) -> VerificationReport.Run {
    let vocabulary = decoder.configuration.vocabularySize
    let expected = try reference.values(prefix + "logits", [reference.sequences, reference.columns, vocabulary])
    let tokens = reference.tokens
    decoder.forward(tokens.span, segments: segments, cache: &cache, adapter: adapter, state: &state, on: compute)
    var logits = Matrix(rows: tokens.count, columns: vocabulary)
    decoder.logits(state.hidden, into: &logits, on: compute)
    let (worst, rms) = Distance.overDeviation(logits.values, expected)
    var run = VerificationReport.Run(logitsRelativeError: worst, logitsRMSError: rms)
    run.lossReference = try reference.scalar(prefix + "loss")
    guard let targets = reference.targets else { return run }
    var head = LossHead(decoder.configuration)
    run.loss = head.forward(
      decoder, hidden: state.hidden, targets: targets.span, weights: Self.shares(targets).span, on: compute)
    return run
  }

  /// The gradients of the mean loss of the batch that ran forward last.
  mutating func backward(_ targets: [Int32], includesWeights: Bool) -> Gradients {
    let configuration = decoder.configuration
    var d = BackwardState(configuration, capacity: targets.count, rank: adapter.configuration.rank)
    var gradients = Gradients(
      decoder.weights, adapter: adapter.configuration.rank > 0 ? adapter.configuration : nil, includesWeights: includesWeights)
    var head = LossHead(configuration)
    _ = head.forwardBackward(
      decoder, hidden: state.hidden, targets: targets.span, weights: Self.shares(targets).span, dHidden: &d.dHidden, gradients: &gradients,
      on: compute)
    decoder.backward(segments: segments, cache: &cache, adapter: adapter, state: &state, d: &d, gradients: &gradients, on: compute)
    return gradients
  }

  /// What each position adds to the mean over those with a label.
  private static func shares(_ targets: [Int32]) -> [Float] {
    let labelled = targets.reduce(0) { $0 + ($1 >= 0 ? 1 : 0) }
    return [Float](repeating: 1 / Float(max(labelled, 1)), count: targets.count)
  }
}
