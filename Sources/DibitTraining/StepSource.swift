internal import DibitTensor

/// The position of a run in its data: enough to go on with the very next sequence.
struct DataPosition: Equatable, Sendable {
  /// The pass over the data, from 1; 0 before the first step.
  var epoch: Int
  /// Examples or steps taken in that pass.
  var position: Int
  /// The generator's state: for examples at the start of the pass, when its order was drawn; for text now.
  var generator: UInt64
}

/// The source of the sequences of each step, and of those that a run is judged by.
protocol StepSource {
  /// Steps of a run.
  var totalSteps: Int { get }
  /// The position at which the next step begins; setting it goes there.
  var dataPosition: DataPosition { get set }
  /// The most tokens, and the most sequences, of one of its batches.
  var capacity: (rows: Int, sequences: Int) { get }
  /// Training and validation examples, or tokens of text.
  var counts: (training: Int, validation: Int) { get }
  /// The number of times that a run goes through its data.
  var passes: Int { get }
  /// Tokens of all steps of a run, and of all its looks at the validation data.
  var totalTokens: (training: Int, validation: Int) { get }
  /// Room for the batches of a step.
  func makeBatches() -> StepBatches
  /// Overwrites `batches` with the sequences of the next step.
  mutating func next(into batches: inout StepBatches)
  /// Returns whether to look at the validation data after `step`, which was just done.
  func validates(after step: Int) -> Bool
  /// Overwrites `batches` with the validation data.
  func validation(into batches: inout StepBatches)
}

/// The sequences of a step, in batches that go through the model one after the other; memory is used again from step to step.
struct StepBatches {
  /// The number of batches.
  private(set) var count = 0
  private var batches: [Batch] = []
  private let sequences: Int
  private let tokens: Int

  /// Batches of at most `sequences` sequences and `tokens` tokens; a longer sequence is a batch of its own.
  ///
  /// There is room at once for `count` batches of up to `rows` tokens; more, and longer ones, take memory when they come.
  init(sequences: Int, tokens: Int, count: Int = 0, rows: Int = 0) {
    (self.sequences, self.tokens) = (sequences, tokens)
    for _ in 0..<count { batches.append(Batch(rows: rows, sequences: sequences)) }
  }

  subscript(index: Int) -> Batch { batches[index] }

  /// By which a mean loss over the step divides: see ``Batch/totalWeight``.
  var totalWeight: Float {
    var total: Float = 0
    for index in 0..<count { total += batches[index].totalWeight }
    return total
  }

  /// Forgets all sequences.
  mutating func removeAll() { count = 0 }

  /// Adds an example.
  mutating func append(_ example: TrainingExample) {
    openBatch(for: example.tokens.count)
    batches[count - 1].append(example)
  }

  /// Adds plain text.
  mutating func append(text: ArraySlice<Int32>) {
    openBatch(for: text.count)
    batches[count - 1].append(text: text)
  }

  /// Begins another batch where the last one has no room for a sequence of `length` tokens.
  private mutating func openBatch(for length: Int) {
    if count > 0, batches[count - 1].lengths.count < sequences, batches[count - 1].tokens.count + length <= tokens { return }
    if count == batches.count { batches.append(Batch()) } else { batches[count].removeAll() }
    count += 1
  }
}

/// Passes over examples, each in an order of its own.
struct ExampleEpochs: StepSource {
  private let examples: [TrainingExample]
  private let validation: [TrainingExample]
  private let options: TrainingOptions
  private let perStep: Int
  private var generator: SplitMix64
  private var passStart: UInt64
  private var order: [Int] = []
  private var epoch = 0
  private var position = 0

  init(_ examples: [TrainingExample], validation: [TrainingExample], options: TrainingOptions) {
    self.examples = examples
    self.validation = validation
    self.options = options
    perStep = options.batchSize * options.accumulation
    generator = SplitMix64(seed: options.optimization.seed, purpose: "adapter.order")
    passStart = generator.state
  }

  var totalSteps: Int { options.epochs * ((examples.count + perStep - 1) / perStep) }

  var counts: (training: Int, validation: Int) { (examples.count, validation.count) }

  var passes: Int { options.epochs }

  var dataPosition: DataPosition {
    get { DataPosition(epoch: epoch, position: position, generator: passStart) }
    set {
      (epoch, position, passStart) = (newValue.epoch, newValue.position, newValue.generator)
      generator.state = passStart
      if epoch > 0 { drawOrder() }
    }
  }

  private mutating func drawOrder() {
    if order.count != examples.count { order = Array(examples.indices) } else { for i in order.indices { order[i] = i } }
    generator.shuffle(&order)
  }

  var capacity: (rows: Int, sequences: Int) {
    let lengths = (examples + validation).map(\.tokens.count).sorted(by: >)
    let longest = lengths.first ?? 0
    let rows = lengths.prefix(options.batchSize).reduce(0, +)
    return (max(longest, min(rows, options.optimization.microBatchTokens)), options.batchSize)
  }

  var totalTokens: (training: Int, validation: Int) {
    let perEpoch = examples.reduce(0) { $0 + $1.tokens.count }
    let stepsPerEpoch = (examples.count + perStep - 1) / perStep
    // The end of an epoch is one look, even where the interval falls on it.
    let looks = options.validationInterval.map { interval in
      (1...max(totalSteps, 1)).count { $0 % interval == 0 || $0 % stepsPerEpoch == 0 }
    }
    return (options.epochs * perEpoch, (looks ?? options.epochs) * validation.reduce(0) { $0 + $1.tokens.count })
  }

  func makeBatches() -> StepBatches {
    // At worst every sequence is a batch of its own.
    StepBatches(
      sequences: options.batchSize, tokens: options.optimization.microBatchTokens, count: perStep, rows: capacity.rows)
  }

  mutating func next(into batches: inout StepBatches) {
    if epoch == 0 || position >= examples.count {
      passStart = generator.state
      drawOrder()
      (epoch, position) = (epoch + 1, 0)
    }
    batches.removeAll()
    let end = min(position + perStep, order.count)
    for index in position..<end { batches.append(examples[order[index]]) }
    position = end
  }

  func validates(after step: Int) -> Bool {
    !validation.isEmpty && (position >= examples.count || options.validationInterval.map { step % $0 == 0 } ?? false)
  }

  func validation(into batches: inout StepBatches) {
    batches.removeAll()
    for example in validation { batches.append(example) }
  }
}

/// Windows of a text at random offsets.
struct TextWindows: StepSource {
  private let text: [Int32]
  private let validation: [Int32]
  private let options: PretrainingOptions
  private var generator: SplitMix64
  private var steps = 0

  /// Sequences of the held-out text that are looked at.
  private static let validationWindows = 64

  init(_ text: [Int32], validation: [Int32], options: PretrainingOptions) {
    self.text = text
    self.validation = validation
    self.options = options
    generator = SplitMix64(seed: options.optimization.seed, purpose: "pretrain.order")
  }

  var totalSteps: Int { options.steps }

  var counts: (training: Int, validation: Int) { (text.count, validation.count) }

  /// Windows are drawn anew, and hardly one comes again.
  var passes: Int { 1 }

  var dataPosition: DataPosition {
    get { DataPosition(epoch: min(steps, 1), position: steps, generator: generator.state) }
    set { (steps, generator.state) = (newValue.position, newValue.generator) }
  }

  private var window: Int { options.sequenceLength + 1 }

  private var perBatch: Int { max(1, min(options.batchSize, options.optimization.microBatchTokens / window)) }

  var capacity: (rows: Int, sequences: Int) { (perBatch * window, perBatch) }

  var totalTokens: (training: Int, validation: Int) {
    let looks = validation.count < window ? 0 : (options.steps + options.validationInterval - 1) / options.validationInterval
    return (options.steps * options.batchSize * window, looks * min(Self.validationWindows, validation.count / window) * window)
  }

  func makeBatches() -> StepBatches {
    StepBatches(
      sequences: perBatch, tokens: perBatch * window, count: (options.batchSize + perBatch - 1) / perBatch, rows: perBatch * window)
  }

  mutating func next(into batches: inout StepBatches) {
    steps += 1
    batches.removeAll()
    for _ in 0..<options.batchSize {
      let start = generator.below(text.count - options.sequenceLength)
      batches.append(text: text[start..<start + window])
    }
  }

  func validates(after step: Int) -> Bool {
    validation.count >= window && (step % options.validationInterval == 0 || step == options.steps)
  }

  func validation(into batches: inout StepBatches) {
    batches.removeAll()
    let count = min(Self.validationWindows, validation.count / window)
    // Spread over all of the text, which may have come from many files.
    for index in 0..<count {
      let start = index * (validation.count - window) / max(count - 1, 1)
      batches.append(text: validation[start..<start + window])
    }
  }
}
