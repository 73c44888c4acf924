import BasicContainers
import DibitConversion
import DibitDataset
import DibitEvaluation
import DibitFiles
import DibitInference
import DibitJSON
import DibitKernels
import DibitModel
import DibitModelStore
import DibitStatistics
import DibitTensor
import DibitTestSupport
import DibitTokenizer
@testable import DibitTraining
import Glibc
import Testing

/// A converted tiny model with 32 labelled examples.
struct TrainingCase {
  let scratch = Scratch()
  let model: StoredModel
  let task: TokenizedTask
  let labelled: [LabelledExample]
  let examples: [TrainingExample]

  init(_ family: String = "afm7") throws {
    let source = try TinyCheckpoint.named(family).write(to: scratch)
    _ = try Converter(source: source, output: scratch("model"), options: ConversionOptions(), on: Compute(threads: 1)).run()
    let model = try StoredModel.openConverted(scratch("model"))
    var tagging = TaggingTask()
    (tagging.instruction, tagging.maximumTokens) = ("Tag.", 96)
    let task = TokenizedTask(tagging, tokenizer: model.tokenizer)
    let labelled = topics(perLabel: 8).map { LabelledExample(path: "\($0.label)/\($0.path)", text: $0.text, labels: [$0.label]) }
    (self.model, self.task, self.labelled) = (model, task, labelled)
    examples = labelled.map { TrainingExample($0, task: task, reserving: 0) }
  }

  static func options(epochs: Int = 2, seed: UInt64 = 0) -> TrainingOptions {
    var options = TrainingOptions()
    (options.epochs, options.batchSize) = (epochs, 8)
    (options.optimization.learningRate, options.optimization.seed) = (1e-2, seed)
    (options.adapter.rank, options.adapter.alpha) = (8, 16)
    return options
  }

  func trainer(_ options: TrainingOptions, threads: Int = 2, validation: [TrainingExample] = []) throws -> AdapterTrainer {
    try AdapterTrainer(model.makeDecoder(), examples: examples, validation: validation, options: options, on: Compute(threads: threads))
  }

  /// Trains and writes the adapter to `name`.
  func train(_ options: TrainingOptions, threads: Int, to name: String) throws -> [String: [UInt8]] {
    var trainer = try trainer(options, threads: threads)
    _ = try trainer.run()
    let directory = try StagedDirectory(destination: scratch(name), inputs: .none)
    try StoredAdapter.write(trainer.trainedAdapter(), base: model, manifest: JSONObject(), into: directory)
    try directory.commit()
    return try files(below: scratch(name))
  }
}

@Suite struct AdapterTrainingTests {
  @Test("32 examples are learnt by heart", arguments: ["llama", "afm7"])
  func overfitting(family: String) throws {
    let training = try TrainingCase(family)
    let compute = Compute(threads: 2)
    var trainer = try training.trainer(TrainingCase.options(epochs: 40))
    var losses: [Float] = []
    let result = try trainer.run() { event in
      if case .step(let step) = event.kind { losses.append(step.loss) }
      return true
    }
    #expect(result.steps == 160)
    #expect(!result.wasInterrupted)
    #expect(losses.count == 160)
    #expect(result.trainingLoss < losses[0] / 20, "from \(losses[0]) to \(result.trainingLoss)")
    let model = MeasuredModel(
      training.model.configuration, weights: training.model.weights, adapter: LoadedAdapter(trainer.trainedAdapter()))
    let run = try Evaluator.run(
      [EvaluationSubject(name: "trained", model: model, task: training.task)], labels: ["food", "money", "space", "sport"],
      examples: training.labelled, on: compute)[0]
    #expect(run.records.allSatisfy { $0.scores.map(\.best) == $0.truths.first })
    #expect(run.truncated == 0)
  }

  @Test("the same seed gives the same files, whatever the number of threads", arguments: ["llama", "afm7"])
  func sameSeed(family: String) throws {
    let training = try TrainingCase(family)
    let one = try training.train(TrainingCase.options(seed: 5), threads: 1, to: "one")
    let two = try training.train(TrainingCase.options(seed: 5), threads: 2, to: "two")
    let other = try training.train(TrainingCase.options(seed: 6), threads: 2, to: "other")
    #expect(one == two)
    #expect(one["adapter_model.safetensors"] != other["adapter_model.safetensors"])
    #expect(one["adapter_config.json"] == other["adapter_config.json"])
  }

  @Test func frozenWeightsStayAsTheyAre() throws {
    let training = try TrainingCase()
    let before = try files(below: training.model.path)
    let bytes = training.model.weights.parameters.map { $0.weight.elements.array + $0.weight.scales.array }
    let decoder = training.model.makeDecoder()
    var trainer = try training.trainer(TrainingCase.options())
    _ = try trainer.run()
    #expect(decoder.weights.parameters.map { $0.weight.elements.array + $0.weight.scales.array } == bytes)
    #expect(try files(below: training.model.path) == before)
  }

  @Test("once all texts were seen no step allocates a Buffer, nor does taking its batch or looking at the validation texts")
  func stepAllocatesNoBuffer() throws {
    let training = try TrainingCase()
    var options = TrainingCase.options(epochs: 5)
    (options.optimization.averageDecay, options.optimization.keepsBest) = (0.9, true)
    var trainer = try training.trainer(options, validation: Array(training.examples.prefix(5)))
    var (allocated, steps) = (0, 0)
    _ = try trainer.run() { event in
      // A thread's scratch memory grows with the longest text that it has met: within the first pass.
      if steps > 4 { #expect(bufferAllocationCount() == allocated, "\(event.kind)") }
      allocated = bufferAllocationCount()
      if case .step = event.kind { steps += 1 }
      return true
    }
    #expect(steps == 20)
  }

  @Test("the first loss is the mean over answer tokens alone")
  func lossOfTheAnswer() throws {
    let training = try TrainingCase("llama")
    let compute = Compute(threads: 1)
    var options = TrainingCase.options(epochs: 1)
    options.batchSize = 32
    var trainer = try training.trainer(options)
    var first: Float = .nan
    _ = try trainer.run() { event in
      if case .step(let step) = event.kind, step.step == 1 { first = step.loss }
      return true
    }
    // B is zero before the first step, so the base model's own probabilities must add up to that loss.
    let weights = training.model.weights
    var session = Session(training.model.configuration, weights: weights, adapter: .none(for: weights), precision: .float32, on: compute)
    var (sum, count) = (0.0, 0)
    for example in training.examples {
      session.rewind()
      for (index, token) in example.tokens.enumerated() {
        if example.isAnswer[index] {
          let logits = session.lastLogits.map { Double($0) }
          let largest = logits.max() ?? 0
          sum += largest + log(logits.reduce(0) { $0 + exp($1 - largest) }) - logits[Int(token)]
          count += 1
        }
        try session.append([token])
      }
    }
    #expect(count == training.examples.reduce(0) { $0 + $1.isAnswer.count { $0 } })
    #expect(abs(Double(first) - sum / Double(count)) <= 1e-4 * abs(sum / Double(count)))
  }

  @Test func examplesMarkAnswerAndLabel() throws {
    let training = try TrainingCase()
    let tokenizer = training.model.tokenizer
    let example = TrainingExample(LabelledExample(path: "a", text: "soup", labels: ["food", "money"]), task: training.task, reserving: 0)
    func text(_ flags: [Bool]) -> String { tokenizer.decode(zip(example.tokens, flags).filter { $0.1 }.map { $0.0 }) }
    #expect(text(example.isAnswer) == "{\"topics\":[\"food\",\"money\"]}")
    #expect(text(example.isContent) == "foodmoney")
    #expect(example.truncatedTokens == 0)
    #expect(example.tokens.last == tokenizer.id(of: "<turn_end>"))
    let first = try #require(example.isAnswer.firstIndex(of: true))
    #expect(example.isAnswer[first...].allSatisfy { $0 })

    let batch = Batch([example, example])
    #expect(batch.tokens == example.tokens + example.tokens)
    #expect(batch.lengths == [example.tokens.count, example.tokens.count])
    let answer = example.tokens.count - first
    #expect(batch.labelled == 2 * answer)
    for (row, target) in batch.targets.prefix(example.tokens.count).enumerated() {
      let learns = row + 1 >= first && row + 1 < example.tokens.count
      #expect(target == (learns ? example.tokens[row + 1] : -1))
      #expect(batch.isContent[row] == (learns && example.isContent[row + 1]))
    }
    #expect(batch.weights == batch.targets.map { $0 >= 0 ? 1 : 0 })
    #expect(batch.totalWeight == Float(batch.labelled))
    // The last row of a sequence must not learn the first token of the next.
    #expect(batch.targets[example.tokens.count - 1] == -1)
  }

  @Test func scaffoldingCountsAsMuchAsItsWeight() throws {
    let training = try TrainingCase()
    var tagging = training.task.task
    tagging.scaffoldingWeight = 0.25
    let task = TokenizedTask(tagging, tokenizer: training.model.tokenizer)
    let labelled = LabelledExample(path: "a", text: "soup", labels: ["food"])
    let example = TrainingExample(labelled, task: task, reserving: 0)
    #expect(example.tokens == TrainingExample(labelled, task: training.task, reserving: 0).tokens)
    #expect(example.weights == example.roles.map { $0 == .content ? 1 : $0 == .scaffolding ? 0.25 : 0 })
    let batch = Batch([example])
    #expect(batch.weights.dropLast() == example.weights.dropFirst())
    tagging.scaffoldingWeight = 0
    let content = Batch([TrainingExample(labelled, task: TokenizedTask(tagging, tokenizer: training.model.tokenizer), reserving: 0)])
    #expect(content.labelled == example.isContent.count { $0 })
    #expect(zip(content.targets, content.isContent).allSatisfy { ($0 >= 0) == $1 })

    // A step's loss is the weighted mean of its rows' losses.
    let decoder = training.model.makeDecoder()
    var adapter = Adapter.none(for: training.model.weights)
    let list = TrainableList(training.model.weights, adapter: nil, includesWeights: false)
    var engine = StepEngine(decoder, rows: 200, sequences: 2, adapter: nil, training: list, on: Compute(threads: 1))
    func loss(_ weight: Float) -> (loss: Float, sums: LossSums) {
      var tagging = training.task.task
      tagging.scaffoldingWeight = weight
      let batch = Batch([TrainingExample(labelled, task: TokenizedTask(tagging, tokenizer: training.model.tokenizer), reserving: 0)])
      var sums = LossSums()
      let loss = engine.accumulate(batch, decoder, adapter: &adapter, total: batch.totalWeight, losses: &sums)
      return (loss, engine.evaluate(batch, decoder, adapter: &adapter))
    }
    let (whole, contentOnly, quarter) = (loss(1), loss(0), loss(0.25))
    #expect(abs(contentOnly.loss - whole.sums.contentMean) < 1e-5)
    let contentCount = Float(content.labelled)
    let scaffolding = Float(whole.sums.loss - whole.sums.content)
    let count = Float(Batch([example]).labelled) - contentCount
    let expected = (Float(whole.sums.content) + 0.25 * scaffolding) / (contentCount + 0.25 * count)
    #expect(abs(quarter.loss - expected) < 1e-5 * expected)
  }

  @Test("where a cut text ends does not tell how long its label is")
  func answersBeginAtTheSamePosition() throws {
    let training = try TrainingCase()
    let labels = ["a", "a label of many more tokens than the other"]
    let starts = labels.map { label in
      let text = String(repeating: "soup ", count: 200)
      let example = TrainingExample(
        LabelledExample(path: "a", text: text, labels: [label]), task: training.task, reserving: training.task.reserve(for: labels))
      return example.isAnswer.firstIndex(of: true)
    }
    #expect(starts[0] == starts[1])
    #expect(starts[0] != nil)
  }

  @Test func longTextsLoseTheirEnd() throws {
    let training = try TrainingCase()
    let long = TrainingExample(
      LabelledExample(path: "a", text: String(repeating: "soup ", count: 200), labels: ["food"]), task: training.task, reserving: 0)
    #expect(long.tokens.count == 96)
    #expect(long.truncatedTokens > 100)
    #expect(training.model.tokenizer.decode(long.tokens.suffix(long.isAnswer.count { $0 })) == "{\"topics\":[\"food\"]}")
  }

  @Test("of long texts it is told how many tokens of each a share of the work allows")
  func lengthForAShare() throws {
    let training = try TrainingCase()
    // 4 · 40 + 4 · 88 = 512 tokens.
    let examples = [40, 88, 40, 88, 40, 88, 40, 88].map { TrainingExample(text: [Int32](repeating: 1, count: $0)) }
    let trainer = try AdapterTrainer(
      training.model.makeDecoder(), examples: examples, validation: [], options: TrainingCase.options(), on: Compute(threads: 1))
    // At most 64 of each are 416.
    for (share, length) in [(1, 64), (416.0 / 512, 64), (415.0 / 512, nil), (0.1, nil)] {
      #expect(trainer.textLength(forShare: share) == length, "\(share)")
    }
    let long = try AdapterTrainer(
      training.model.makeDecoder(), examples: [TrainingExample(text: [Int32](repeating: 1, count: 96))], validation: [],
      options: TrainingCase.options(), on: Compute(threads: 1))
    #expect(long.textLength(forShare: 1) == 96 && long.textLength(forShare: 0.99) == 64 && long.textLength(forShare: 0.6) == nil)
  }

  @Test func validationAndInterruption() throws {
    let training = try TrainingCase()
    var trainer = try training.trainer(TrainingCase.options(epochs: 2), validation: Array(training.examples.prefix(5)))
    var validations: [Int] = []
    let result = try trainer.run() { event in
      if case .validation(let validation) = event.kind {
        validations.append(validation.epoch)
        #expect(validation.loss > 0 && validation.loss.isFinite)
        #expect(validation.contentLoss > 0 && validation.contentLoss.isFinite)
      }
      return true
    }
    #expect(validations == [1, 2])
    #expect(result.validationLoss != nil)
    var stopped = try training.trainer(TrainingCase.options(epochs: 2))
    let part = try stopped.run() { event in
      if case .step(let step) = event.kind { step.step < 3 } else { true }
    }
    #expect(part.steps == 3)
    #expect(part.totalSteps == 8)
    #expect(part.wasInterrupted)
  }

  @Test func clippingScalesTheGradient() throws {
    let training = try TrainingCase()
    func losses(clip: Float) throws -> (losses: [Float], norms: [Float]) {
      var options = TrainingCase.options(epochs: 6)
      (options.optimization.clipNorm, options.optimization.optimizer.weightDecay) = (clip, 0)
      var trainer = try training.trainer(options)
      var (losses, norms): ([Float], [Float]) = ([], [])
      _ = try trainer.run() { event in
        if case .step(let step) = event.kind {
          losses.append(step.loss)
          norms.append(step.gradientNorm)
        }
        return true
      }
      return (losses, norms)
    }
    let (free, clipped) = (try losses(clip: 1e6), try losses(clip: 1e-9))
    // Norms are reported before clipping. Gradients far below AdamW's epsilon move nothing.
    #expect(free.norms[0] == clipped.norms[0])
    #expect(free.norms[0] > 1e-3)
    #expect(free.losses[0] == clipped.losses[0])
    #expect(free.losses[20] < 0.7 * free.losses[0])
    #expect(clipped.losses[20] > 0.9 * clipped.losses[0])
  }

  @Test("no examples and a loss that is no number are errors that say what to do")
  func errors() throws {
    let training = try TrainingCase()
    #expect(throws: TrainingError.noExamples) {
      _ = try AdapterTrainer(
        training.model.makeDecoder(), examples: [], validation: [], options: TrainingCase.options(), on: Compute(threads: 1)
      ).totalSteps
    }
    var options = TrainingCase.options(epochs: 4)
    options.optimization.learningRate = 1e30
    var trainer = try training.trainer(options)
    #expect(throws: TrainingError.notANumber(step: 2, checkpoint: nil)) { _ = try trainer.run() }
    #expect(TrainingError.noExamples.description == "there is no training example")
    #expect(
      TrainingError.notANumber(step: 2, checkpoint: nil).description
        == "step 2: the loss is not a number any more: lower the learning rate")
    #expect(
      TrainingError.tooLong(path: "a", tokens: 9, maximum: 8).description
        == "'a': prompt and answer need 9 tokens even without the text, but the limit is 8: raise \0maxTokens\0 or shorten the label")
    #expect(TrainingError.tooLittleText(tokens: 1, needed: 2).description == "the text has 1 tokens; at least 2 are needed")
  }
}

@Suite struct ScheduleTests {
  @Test func warmUpThenHalfCosine() {
    let schedule = Schedule(learningRate: 0.5, warmUpSteps: 10, totalSteps: 110)
    #expect(schedule.rate(step: 1) == 0.05)
    #expect(schedule.rate(step: 5) == 0.25)
    #expect(schedule.rate(step: 10) == 0.5)
    for step in 11...110 {
      let expected = 0.25 * (1 + cos(Double.pi * Double(step - 10) / 100))
      #expect(abs(Double(schedule.rate(step: step)) - expected) <= 1e-7, "step \(step)")
    }
    #expect(abs(schedule.rate(step: 60) - 0.25) <= 1e-7)
    #expect(schedule.rate(step: 110) <= 1e-7)
    #expect(schedule.rate(step: 500) == schedule.rate(step: 110))
    for step in 11...110 { #expect(schedule.rate(step: step) < schedule.rate(step: step - 1)) }
  }

  @Test func oneStep() {
    #expect(Schedule(learningRate: 0.5, warmUpSteps: 1, totalSteps: 1).rate(step: 1) == 0.5)
  }
}

@Suite struct PretrainingTests {
  @Test func tinyTextIsLearntAndTheCheckpointWorks() throws {
    let scratch = Scratch()
    let tokenizer = try TinyCheckpoint.makeTokenizer()
    let text = tokenizer.encode(String(repeating: TinyCheckpoint.sentences.joined(separator: ". ") + ". ", count: 4))
    var json = try TinyCheckpoint.afm7().configuration
    json["max_position_embeddings"] = 64
    let configuration = try ModelConfiguration(json: .object(json))
    var options = PretrainingOptions()
    (options.steps, options.batchSize, options.sequenceLength, options.validationInterval) = (60, 4, 32, 30)
    (options.optimization.learningRate, options.optimization.optimizer.weightDecay) = (1e-2, 0.01)
    let compute = Compute(threads: 2)

    var trainer = try Pretrainer(
      Decoder(configuration, weights: Pretrainer.initialWeights(configuration, seed: 1)), text: text, validation: Array(text.prefix(200)),
      options: options, on: compute)
    var (first, validations): (Float, [Int]) = (.nan, [])
    let result = try trainer.run { event in
      switch event.kind {
      case .step(let step) where step.step == 1: first = step.loss
      case .validation(let validation): validations.append(validation.step)
      default: break
      }
      return true
    }
    let decoder = trainer.trainedDecoder()
    // A fresh model knows nothing: about log(vocabulary) nats; three quarters of that must go.
    #expect(abs(first - 5.77) < 1)
    #expect(validations == [30, 60])
    #expect(try #require(result.validationLoss) < first / 4)
    #expect(result.steps == 60)
    for scales in decoder.weights.keyValueScales.prefix(3) { #expect(scales.key ?? 0 > 0 && scales.value ?? 0 > 0) }

    let directory = try StagedDirectory(destination: scratch("base"), inputs: .none)
    let checkpoint = FloatCheckpoint(
      json: configuration.json, configuration: configuration, weights: decoder.weights, dtype: .bf16, tokenizer: tokenizer)
    _ = try checkpoint.write(JSONObject([(key: "training", value: ["steps": 60])]), into: directory, on: compute)
    try directory.commit()
    let reopened = try StoredModel.open(scratch("base"))
    #expect(reopened.configuration == configuration)
    #expect(reopened.digest == nil)
    for (ours, theirs) in zip(decoder.weights.parameters, reopened.weights.parameters) where !ours.isMatrix {
      #expect(ours.weight.values.indices.allSatisfy { ours.weight.values[$0] == theirs.weight.values[$0] }, "\(ours.name.tensor)")
    }
    _ = try Converter(source: scratch("base"), output: scratch("model"), options: ConversionOptions(), on: compute).run()
    let converted = try StoredModel.openConverted(scratch("model"))
    var session = Session(converted.configuration, weights: converted.weights, adapter: .none(for: converted.weights), on: compute)
    var generation = GenerationOptions()
    generation.maximumTokens = 10
    #expect(try session.generate(tokenizer.encode("the goal"), tokenizer: tokenizer, options: generation).tokens.count == 10)
    // BF16 keeps eight bits of a weight: a trained float model still predicts its text.
    let loss = Perplexity.measure(
      Array(text.prefix(200)), configuration: reopened.configuration, weights: reopened.weights, window: 33, on: compute
    ).loss
    #expect(abs(loss - Double(try #require(result.validationLoss))) < 0.3)
  }

  /// Of two runs that differ in the embedding's rate, the first step moves the embedding in proportion and everything else alike.
  @Test func theEmbeddingHasARateOfItsOwn() throws {
    let configuration = try ModelConfiguration(json: .object(try TinyCheckpoint.afm7().configuration))
    let text = try TinyCheckpoint.makeTokenizer().encode(String(repeating: TinyCheckpoint.sentences.joined(separator: ". "), count: 4))
    let first = Pretrainer.initialWeights(configuration, seed: 1)
    func weights(embeddingRate: Float?) throws -> DecoderWeights {
      var options = PretrainingOptions()
      (options.steps, options.batchSize, options.sequenceLength) = (1, 2, 16)
      (options.optimization.learningRate, options.optimization.embeddingLearningRate) = (1e-2, embeddingRate)
      var trainer = try Pretrainer(
        Decoder(configuration, weights: first), text: text, validation: [], options: options, on: Compute(threads: 1))
      _ = try trainer.run()
      return trainer.trainedDecoder().weights
    }
    func values(_ weights: DecoderWeights, _ index: Int) -> [Float] {
      let weight = weights.parameters[index].weight
      let values = weight.values
      return [Float](copying: values)
    }
    let usual = try weights(embeddingRate: nil)
    let slower = try weights(embeddingRate: 1e-3)
    let still = try weights(embeddingRate: 0)
    for index in first.parameters.indices {
      let began = values(first, index)
      let fast = values(usual, index)
      let slow = values(slower, index)
      let none = values(still, index)
      let isEmbedding = index == first.embedding.index
      for i in began.indices {
        let moved = fast[i] - began[i]
        #expect(abs(slow[i] - began[i] - (isEmbedding ? moved / 10 : moved)) < 1e-6)
        #expect(none[i] == (isEmbedding ? began[i] : fast[i]))
      }
    }
  }

  @Test func tooLittleText() throws {
    let configuration = try ModelConfiguration(json: .object(try TinyCheckpoint.afm7().configuration))
    var options = PretrainingOptions()
    options.sequenceLength = 32
    #expect(throws: TrainingError.tooLittleText(tokens: 33, needed: 34)) {
      let decoder = Decoder(configuration, weights: Pretrainer.initialWeights(configuration, seed: 1))
      _ = try Pretrainer(decoder, text: [Int32](repeating: 1, count: 33), validation: [], options: options, on: Compute(threads: 1))
        .parameterCount
    }
  }
}
