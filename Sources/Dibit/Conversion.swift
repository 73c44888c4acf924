package import DibitConversion
internal import DibitFailure
internal import DibitInference
internal import DibitKernels
internal import DibitModelStore
package import DibitQuantization

/// The conversion of a checkpoint: its options, how far it is, and what it made. See ``Model/convert(_:to:options:)``.
public enum Conversion {
  /// The progress of a conversion.
  public struct Progress: Equatable, Sendable {
    /// The stages of a conversion.
    public enum Stage: String, Equatable, Sendable, CaseIterable {
      /// The source writes the text to calibrate on, where none is given.
      case writingText
      /// The rounding of each matrix is tried, to choose its bits.
      case measuring
      /// Layers are rounded by their inputs.
      case calibrating
      /// The scales of rounded layers are trained.
      case training
      /// Tensors are rounded and written.
      case converting
      /// The model is compared with its source.
      case checking
    }

    /// The stage that is going on.
    public let stage: Stage
    /// The share of the stage that is done, from 0 to 1.
    public let fraction: Double
  }

  /// Weights that share a scale.
  public enum GroupSize: Equatable, Sendable {
    /// So many neighbours of a row: 32, 64 or 128.
    case weights(Int)
    /// A whole row.
    case row
  }

  /// The levels of 2 and 4 bits, in units of the scale that a group of weights shares.
  public enum Levels: String, Equatable, Sendable, CaseIterable {
    /// As many below zero as above it, and zero left out: -3/2, -1/2, 1/2 and 3/2. The grid of models that were trained on one.
    case symmetric
    /// Zero and one level more on one side of it: -2, -1, 0 and 1, or with a negative scale 2, 1, 0 and -1. Rounding loses less.
    case fullRange = "full-range"
    /// At 2 bits levels that each code shares with the two before it, so that a weight lies nearer to one of them than four levels of its own would let
    /// it; at 4 bits a full range.
    case trellis
  }

  /// A size that a model may have, which is spent on the matrices whose rounding changes its predictions most.
  public enum Budget: Equatable, Sendable {
    /// Bytes of the file of weights.
    case bytes(Int)
    /// Bits for each weight over the whole model, scales and norms included.
    case bitsPerWeight(Double)
  }

  /// The ways in which weights are rounded.
  public enum Rounding: Equatable, Sendable {
    /// Each weight to the nearest level of a scale that suits its group: seconds, and exact for models that were trained on the grid.
    case nearest
    /// By the inputs of each layer on a text, layer by layer: what counts is the error of outputs. Minutes.
    ///
    /// Three quarters of the text lie in files and folders, or in `.jsonl` files of conversations; the source writes the rest, and without any, all. More effort takes longer, and
    /// comes nearer to the source.
    case calibrated(texts: [String] = [], effort: Effort = .standard)
  }

  /// The work that calibrated rounding takes.
  public enum Effort: String, Equatable, Sendable, CaseIterable {
    /// Each layer is rounded: five minutes for a model of 135 M parameters.
    case quick
    /// Each layer is rounded by twice as much text; below four bits, or eight with texts of a user's own, all scales are then trained towards the
    /// predictions of the source, which is in memory as BF16: two to three times as long.
    case standard
    /// As ``standard`` with half as much text again, and weights and scales of each layer are trained towards what the float layer computes as soon
    /// as it is rounded; of matrices on a trellis scales alone, and all scales four times as long behind that. Four times as long as ``standard``.
    case thorough
  }

  /// Options for the conversion of a checkpoint. The defaults are those of the command line.
  ///
  /// ```swift
  /// let options = Conversion.Options(bits: 4)
  /// ```
  public struct Options: Equatable, Sendable {
    /// Bits of a weight: 2, 4, 8, 16 or 32, where 16 and 32 keep floats.
    public var bits: Int
    /// Weights that share a scale; nil for 64. Where weights of 2 bits are calibrated, with more than quick effort and without a ``budget``, nil is
    /// 128, and the bytes of the scales that 64 would have go to matrices that bear rounding least: they get 3 bits, or more. That is not done where
    /// the source lies on the grid already, or has more than two billion weights.
    public var groupSize: GroupSize?
    /// The levels of matrices at 2 and 4 bits; nil for those that the source lies on already, and else, where rounding is calibrated, a trellis at 2 bits and
    /// the full range at 4, and symmetric ones where it is not.
    public var levels: Levels?
    /// Bits of the embedding and the output head: 4, 8, 16 or 32; nil for 4, or as many as ``bits`` where these are more.
    public var embeddingBits: Int?
    /// The size that the model may have: matrices get 2, 3, 4 or 8 bits, from ``bits`` on, and where ``embeddingBits`` is nil the embedding and the
    /// output head may get more, too. Nil for ``bits`` everywhere.
    public var budget: Budget?
    /// A converted model whose bits and groups each matrix gets, in place of those above: what was trained on its grid is packed as it is. Nil for
    /// none.
    public var like: String?
    /// A tokenizer file to use instead of the one beside or inside the checkpoint; nil for that.
    public var tokenizer: String?
    /// The way in which weights are rounded.
    public var rounding = Rounding.nearest
    /// Replaces a model that is there, and begins anew where a calibration that was stopped left what it had done.
    public var overwrites = false
    /// Goes on with a calibration that was stopped, behind the layers that it had done; the model has the same bytes as without the stop. Where
    /// there is none, one begins.
    public var resumes = false
    /// Compares the converted model with its source, on a short text that the source writes.
    public var checks = true

    /// The defaults.
    ///
    /// ```swift
    /// let options = Conversion.Options()
    /// ```
    ///
    /// - Parameters:
    ///   - bits: Bits of a weight; nil for 2.
    public init(bits: Int? = nil) {
      let scheme = QuantizationScheme()
      self.bits = bits ?? scheme.bits
    }
  }

  /// The result of a conversion.
  public struct Report: Equatable, Sendable {
    /// The model's directory, for ``Model/init(at:options:)``.
    public let path: String
    /// The family, as `model_type` names it.
    public let architecture: String
    /// The number of parameters.
    public let parameters: Int
    /// Bytes of the source's tensors, blocks as floats.
    public let sourceBytes: Int
    /// Bytes of the model's weights.
    public let bytes: Int
    /// Bits for each weight over the whole model, scales and norms included.
    public let bitsPerWeight: Double
    /// Signal over noise of all rounded tensors in dB; nil when none was rounded, infinite when all lay on the grid.
    public let signalToNoise: Double?
    /// The digest that identifies the model, as SHA-256 in hexadecimal.
    public let digest: String
    /// The reason for which the tokenizer may be another model's; nil where nothing speaks for that.
    public let tokenizerDoubt: String?
    /// Notes on what was noticed while the text to calibrate on was read, a phrase each.
    public let notes: [String]
    /// The comparison of the model with its source; nil where no weight changed its value, where the source cannot be run, and where
    /// ``Options/checks`` is off.
    public let check: Check?
  }

  /// The distance of a converted model from its source.
  public struct Check: Equatable, Sendable {
    /// The meaning of the distance.
    public enum Verdict: String, Equatable, Sendable, CaseIterable {
      /// Close to the source.
      case close
      /// Noticeably worse than the source.
      case worse
      /// Of no use: convert with more bits.
      case destroyed
    }

    /// The meaning of ``divergence``.
    public let verdict: Verdict
    /// The mean divergence of the two models' probabilities, in nats for each token.
    public let divergence: Double
    /// The share of tokens for which both have the same most likely token, from 0 to 1.
    public let agreement: Double
    /// Tokens of the text.
    public let tokens: Int

    init(_ check: ConversionCheck) {
      switch check.verdict {
      case .close: verdict = .close
      case .worse: verdict = .worse
      case .destroyed: verdict = .destroyed
      }
      (divergence, agreement, tokens) = (check.comparison.divergence, check.comparison.agreement, check.tokens)
    }
  }
}

extension Conversion.Progress {
  /// The progress that a job reports; nil for what it noticed or expects.
  fileprivate init?(_ progress: ConversionJob.Progress) {
    switch progress {
    case .noticed, .expected: return nil
    case .writingText(let tokens, let total):
      self.init(stage: .writingText, fraction: Double(tokens) / Double(max(1, total)))
    case .trainingScales(let step, let total):
      self.init(stage: .training, fraction: Double(step) / Double(max(1, total)))
    case .converting(let progress):
      let stage: Stage =
        switch progress.stage {
        case .measuring: .measuring
        case .calibrating: .calibrating
        case .writing: .converting
        }
      self.init(stage: stage, fraction: progress.fraction)
    }
  }
}

extension Conversion.Options {
  /// Returns the options that an engine takes.
  ///
  /// - Parameter like: The scheme of the model that ``like`` names.
  package func engineOptions(like: QuantizationScheme? = nil) throws(DibitError) -> ConversionOptions {
    func refuse(_ name: String, _ expected: String, _ found: some CustomStringConvertible) -> DibitError {
      DibitError(.invalidArgument, option: name, "expected \(expected), found \(found)")
    }
    for (name, bits, choices) in [
      ("bits", bits, QuantizationScheme.bitChoices), ("embeddingBits", embeddingBits, QuantizationScheme.tableBitChoices),
    ] {
      if let bits, !choices.contains(bits) { throw refuse(name, QuantizationScheme.words(choices), bits) }
    }
    var options = ConversionOptions()
    options.scheme.bits = bits
    options.scheme.embeddingBits = embeddingBits ?? max(4, bits)
    if case .calibrated(_, .thorough) = rounding { options.trainsLayers = true }
    switch groupSize {
    case nil:
      if case .calibrated(_, let effort) = rounding { options.spreads = effort != .quick && bits == 2 && budget == nil && self.like == nil }
    case .row: options.scheme.group = nil
    case .weights(let size):
      guard QuantizationScheme.groups.contains(size) else { throw refuse("groupSize", "32, 64 or 128", size) }
      options.scheme.group = size
    }
    switch budget {
    case .bytes(let bytes):
      guard bytes > 0 else { throw refuse("size", "a positive number of bytes", bytes) }
      options.budget = .bytes(bytes)
    case .bitsPerWeight(let bits):
      guard bits.isFinite, bits > 0 else { throw refuse("bits", "a positive number", bits) }
      options.budget = .bitsPerWeight(bits)
    case nil: break
    }
    options.budgetsTables = embeddingBits == nil
    if budget != nil, !options.scheme.isQuantized {
      throw DibitError(.invalidArgument, option: "size", "expected weights of 2, 4 or 8 bits to choose more for, found \(bits) bits")
    }
    if self.like != nil, budget != nil {
      throw DibitError(.invalidArgument, option: "like", "a model gives all bits: expected no size beside it")
    }
    if levels != nil, options.scheme.bits > 4, options.scheme.embeddingBits > 4 {
      throw DibitError(.invalidArgument, option: "levels", "expected weights of 2 or 4 bits to choose levels for, found \(bits) bits")
    }
    options.scheme.family = levels?.family(bits: options.scheme.bits) ?? .symmetric
    if self.like != nil, let levels {
      throw DibitError(.invalidArgument, option: "like", "a model gives all levels: expected none beside it, found \(levels.rawValue)")
    }
    if let like { options.scheme = like }
    if rounding != .nearest, !options.scheme.isQuantized {
      throw DibitError(.invalidArgument, option: "rounding", "expected weights of 2, 4 or 8 bits to calibrate, found \(bits) bits")
    }
    if resumes, rounding == .nearest {
      throw DibitError(.invalidArgument, option: "resumes", "expected a rounding that is calibrated: any other takes seconds")
    }
    try DibitError.check(overwrites: overwrites, resumes: resumes)
    (options.tokenizer, options.overwrite) = (tokenizer, overwrites)
    return options
  }
}

extension Model {
  /// Turns a checkpoint of floats into a model directory, of two bits for each weight unless the options say otherwise.
  ///
  /// ```swift
  /// let report = try await Model.convert("llama-checkpoint", to: "llama-2bit").value
  /// if report.check?.verdict == .destroyed { print("give it 4 bits") }
  /// ```
  ///
  /// - Parameters:
  ///   - source: A directory or a file: Hugging Face's `config.json`, tokenizer and weights in safetensors, PyTorch or HDF5 files; a KerasHub
  ///     preset; a GGUF file; or a llama2.c file. Each is recognised by its contents.
  ///   - output: The model's directory, which appears when it is whole.
  ///   - options: Bits and groups.
  ///   - threads: Threads to use; nil for one for each core.
  /// - Returns: The job. It fails with ``DibitError`` for a source that is damaged, or of a kind that Dibit does not know, and for an output
  ///   that is in the way. A job that is cancelled while it converts leaves nothing under that name; what a calibration has done is kept in `output` with
  ///   `.checkpoints` behind it, for ``Conversion/Options/resumes``.
  public static func convert(
    _ source: String, to output: String, options: Conversion.Options = Conversion.Options(), threads: Int? = nil
  ) -> Job<Conversion.Progress, Conversion.Report> {
    Job(on: Worker("conversion"), buffered: 64) { report in
      let compute = try Runtime(Options(threads: threads)).compute(for: .writing)
      var notes: [String] = []
      let made = try ConversionJob(source, to: output, options: options, on: compute).run { progress in
        if case .noticed(let finding) = progress { notes.append(finding) }
        return Conversion.Progress(progress).map { report($0) } ?? true
      }
      var check: ConversionCheck?
      if options.checks, !made.isLossless {
        // A source that cannot run here cannot be compared, which is no fault of the model.
        check = try? ConversionCheck.run(source: source, model: StoredModel.open(made.output), on: compute) { done, total in
          report(Conversion.Progress(stage: .checking, fraction: Double(done) / Double(max(1, total))))
        }
      }
      return Conversion.Report(
        path: made.output, architecture: made.architecture, parameters: made.elements, sourceBytes: made.sourceBytes,
        bytes: made.outputBytes, bitsPerWeight: made.bitsPerWeight, signalToNoise: made.decibels, digest: made.digest,
        tokenizerDoubt: made.tokenizerDoubt, notes: notes, check: check.map { Conversion.Check($0) })
    }
  }
}

extension Conversion.Levels {
  /// The grids of such levels, for a model whose weights have so many bits unless a matrix has more.
  package func family(bits: Int) -> LevelFamily {
    switch self {
    case .symmetric: .symmetric
    case .fullRange: .fullRange
    case .trellis: .losingLeast(bits: bits)
    }
  }
}
