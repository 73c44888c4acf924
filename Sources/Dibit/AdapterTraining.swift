internal import DibitTraining

/// The training of an adapter: its options, what happens while it runs, and what comes of it. See ``Model/train(on:to:options:)``.
public enum AdapterTraining {
  /// An event in the training of an adapter.
  public enum Event: Equatable, Sendable {
    /// The run begins, or goes on.
    case started(Start)
    /// A step was done.
    case step(Step)
    /// The validation texts were looked at.
    case validated(Validation)
    /// A checkpoint is on the disk, from which a stopped run goes on.
    case saved(step: Int)
    /// Settings were tried, before the run itself: see ``Options/budget``.
    case tried(Trial)
    /// Something that the teacher lacks is made, before the run itself: see ``Teacher``.
    case preparing(Preparation)
    /// Something that a reader of the result should know, in one sentence.
    case note(String)
  }

  /// The progress of something that a teacher lacks.
  public struct Preparation: Equatable, Sendable {
    /// The things that a teacher may lack.
    public enum Part: String, Equatable, Sendable, CaseIterable {
      /// Texts like the labelled ones, which its model writes: see ``Teacher/writtenTexts``.
      case texts
      /// Its adapter, which is trained on the same data: see ``Teacher/adapter``.
      case adapter
      /// The labels of texts that have none.
      case labels
    }

    /// The part that is made.
    public let part: Part
    /// Texts that are written or labelled, or training steps that are done.
    public let done: Int
    /// Their number in the end.
    public let total: Int
  }

  /// A trial of settings.
  public struct Trial: Equatable, Sendable {
    /// The peak learning rate.
    public let learningRate: Double
    /// Passes over the texts.
    public let epochs: Int
    /// The share of held-out texts that were answered right; nil where the losses ran away.
    public let accuracy: Double?
    /// True where no trial before it was as good.
    public let isBest: Bool
  }

  /// The plan of a run.
  public struct Start: Equatable, Sendable {
    /// Steps that were done before, by the run that this one goes on with.
    public let step: Int
    /// Steps in all.
    public let totalSteps: Int
    /// Numbers that are trained.
    public let parameters: Int
    /// Training texts.
    public let trainingTexts: Int
    /// Validation texts.
    public let validationTexts: Int
  }

  /// A step that was done.
  public struct Step: Equatable, Sendable {
    /// Its number, from 1.
    public let step: Int
    /// Steps in all.
    public let totalSteps: Int
    /// The pass over the texts, from 1.
    public let epoch: Int
    /// Mean loss in nats per learnt token.
    public let loss: Double
    /// The learning rate.
    public let learningRate: Double
    /// Tokens in each second over the last steps.
    public let tokensPerSecond: Double
    /// Seconds until the last step at this rate.
    public let secondsLeft: Double
  }

  /// A look at the validation texts.
  public struct Validation: Equatable, Sendable {
    /// The step after which it was taken.
    public let step: Int
    /// The pass over the texts, from 1.
    public let epoch: Int
    /// Mean loss in nats per learnt token.
    public let loss: Double
    /// Mean loss in nats per token of the labels, or of the answers of conversations: what runs are judged by.
    public let contentLoss: Double
    /// True where it is the lowest so far.
    public let isBest: Bool
  }

  /// The result of a training.
  public struct Report: Equatable, Sendable {
    /// The adapter's directory, for ``Model/adapter(at:)``.
    public let path: String
    /// Steps that were done.
    public let steps: Int
    /// The step whose parameters were kept.
    public let keptStep: Int
    /// True where it ended before its last step because validation got no better.
    public let endedEarly: Bool
    /// Tokens that went through the model in training steps.
    public let tokens: Int
    /// Mean loss over the last epoch, in nats per learnt token.
    public let trainingLoss: Double
    /// The validation loss of what was kept, in nats per learnt token; nil without validation texts.
    public let validationLoss: Double?
    /// As ``validationLoss``, over the tokens of labels alone.
    public let validationContentLoss: Double?
    /// Texts that were cut to fit.
    public let truncatedTexts: Int
    /// The adapter's manifest, as JSON: data, splits, options and results.
    public let manifest: String
  }

  /// The weights of texts by their labels.
  public enum ClassWeights: String, Equatable, Sendable, CaseIterable {
    /// Texts of rare labels more.
    case balanced
    /// All texts alike.
    case equal = "none"
  }

  /// The form that prompts are put into.
  public enum PromptForm: String, Equatable, Sendable, CaseIterable {
    /// The chat form that the model knows: the turns of its vocabulary, or its chat template.
    case chat
    /// A line for the instruction and one for the text.
    case plain
  }

  /// A model, usually of floats, whose answers the new adapter learns to give: under an adapter of its own, which knows the task.
  ///
  /// ```swift
  /// options.teacher = .init(model: "llama-float")
  /// options.teacher?.writtenTexts = 1000
  /// ```
  public struct Teacher: Equatable, Sendable {
    /// The model, converted, with the tokenizer of the one in training.
    public var model: String
    /// Its adapter, of the same labels and prompt. Nil for one that is trained first, on the same data with the same options: its directory is the
    /// output with `.teacher` behind it.
    public var adapter: String?
    /// The part that labels have in what is learnt, from 0 to 0.99; the teacher has the rest.
    public var labelShare: Double
    /// A file or a folder of texts that nobody has labelled: the teacher labels them, and they are learnt from beside the labelled ones. Nil for
    /// none.
    public var unlabelledTexts: String?
    /// The most of these texts that are learnt from; of more the seed draws as many.
    public var unlabelledLimit = 2000
    /// The number of texts like the labelled ones that the teacher's model writes, to be learnt from as ``unlabelledTexts`` are, in place of these;
    /// their file is the output with `.written.jsonl` behind it. Nil for none.
    public var writtenTexts: Int?

    /// A teacher of half of what is learnt.
    ///
    /// ```swift
    /// let teacher = AdapterTraining.Teacher(model: "llama-float", adapter: "notes-float")
    /// ```
    ///
    /// - Parameters:
    ///   - model: The model that answers.
    ///   - adapter: Its adapter; nil for one that is trained first.
    ///   - labelShare: The part that labels have in what is learnt.
    public init(model: String, adapter: String? = nil, labelShare: Double = 0.5) {
      (self.model, self.adapter, self.labelShare) = (model, adapter, labelShare)
    }
  }

  /// Options for training an adapter. Those that are nil are as the recipe says, and where that says nothing as the defaults of the command
  /// line.
  ///
  /// ```swift
  /// var options = AdapterTraining.Options()
  /// options.epochs = 4
  /// options.rank = 16
  /// ```
  public struct Options: Equatable, Sendable {
    /// A recipe, a YAML file; nil for none.
    public var recipe: String?
    /// Values in the words of a recipe, such as `lora_parameters.use_dora=true`; they win over the recipe.
    public var settings: [String] = []
    /// Passes over the texts; where nobody says, as many as 120 steps take, or as show each of up to 150 labels 45 times, from 3 (2 of 3,000 texts
    /// and more) to 10.
    public var epochs: Int?
    /// Texts of a step; 8 where nobody says.
    public var batchSize: Int?
    /// The peak learning rate; where nobody says, it falls with the square root of the model's size, from 0.001 at 110 million weights.
    public var learningRate: Double?
    /// The adapter's rank; 16 where nobody says.
    public var rank: Int?
    /// The adapter's scale is alpha over the rank; where nobody says, alpha is the rank.
    public var alpha: Double?
    /// The most tokens of a text with its prompt and answer; 512 where nobody says, and never more than the model's context.
    public var maximumTokens: Int?
    /// The form that prompts are put into; a chat where nobody says and the model can.
    public var promptForm: PromptForm?
    /// The weights of texts by their labels; all alike where nobody says.
    public var classWeights: ClassWeights?
    /// The share in each answer of a classifier of words that learns from the same texts, from 0 to 0.9; 0, for none, where nobody says. It is for
    /// texts of one label each, and answers of one.
    public var wordShare: Double?
    /// The seed of everything random: the same seed gives the same bytes. 0 where nobody says.
    public var seed: UInt64?
    /// An adapter of the same model to go on from, which gives the start and the shape; its labels may be others. Nil for a new one.
    public var start: String?
    /// An adapter to learn answers from; nil to learn from labels alone.
    public var teacher: Teacher?
    /// Replaces an adapter that is there, and begins anew where a stopped run left checkpoints.
    public var overwrites = false
    /// Goes on with the run that was stopped, from its newest whole checkpoint: the adapter has the same bytes as without the stop.
    public var resumes = false
    /// The most bytes that the run may hold, weights included; nil for no limit. Less of it makes a step slower and changes no result.
    public var memoryLimit: Int?
    /// The time for finding the learning rate and the epochs on texts that are held out for it, and for the training behind that; nil for no
    /// search. What is given, as an option or among ``settings``, is not varied; a recipe's values are where it begins. Beside a ``teacher``
    /// without an adapter it is the time for that adapter, and the share of words that the search finds is the new adapter's, too.
    public var budget: Duration?
    /// The column or key of the text, in rows; nil for `text` or a name like it.
    public var textColumn: String?
    /// The column or key of the label, or of a list of labels, in rows; nil for `label` or a name like it.
    public var labelColumn: String?

    /// The name of ``settings`` in a failure.
    package var settingsName = "settings"

    /// The defaults.
    ///
    /// ```swift
    /// let options = AdapterTraining.Options(recipe: "recipes/afm7/14m_lora.yaml")
    /// ```
    ///
    /// - Parameters:
    ///   - recipe: A recipe, a YAML file; nil for none.
    public init(recipe: String? = nil) { self.recipe = recipe }
  }
}

extension AdapterTraining.Event {
  /// Takes the report of a search; nil for the steps of its trials.
  init?(_ event: SettingsSearch.Event) {
    guard case .tried(let trial, let isBest) = event else { return nil }
    self = .tried(
      .init(
        learningRate: Double("\(trial.settings.learningRate)") ?? 0, epochs: trial.settings.epochs,
        accuracy: trial.hasFailed ? nil : trial.accuracy, isBest: isBest))
  }

  /// Takes the report of an engine, without what only its log needs; nil for the rest.
  init?(_ event: TrainingEvent) {
    switch event.kind {
    case .start(let start):
      self = .started(
        .init(
          step: start.step, totalSteps: start.totalSteps, parameters: start.parameters, trainingTexts: start.examples,
          validationTexts: start.validationExamples))
    case .step(let step):
      self = .step(
        .init(
          step: step.step, totalSteps: step.totalSteps, epoch: step.epoch, loss: Double(step.loss), learningRate: Double(step.learningRate),
          tokensPerSecond: event.measured.tokensPerSecond, secondsLeft: event.measured.secondsLeft))
    case .validation(let validation):
      self = .validated(
        .init(
          step: validation.step, epoch: validation.epoch, loss: Double(validation.loss), contentLoss: Double(validation.contentLoss),
          isBest: validation.isBest))
    case .checkpoint(let checkpoint): self = .saved(step: checkpoint.step)
    case .end: return nil
    }
  }
}
