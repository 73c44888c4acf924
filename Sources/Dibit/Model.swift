internal import DibitInference
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
internal import DibitTokenizer

/// A language model on the disk, opened: it answers, continues, tags, scores and embeds texts, and is what adapters are trained for.
///
/// Any number of tasks may use a model at the same time. It does one thing after the other, in the order in which it was asked, on a thread
/// of its own; trainings, conversions and evaluations have threads of theirs. Copies are the same model.
///
/// ```swift
/// let model = try await Model(at: "model")
/// let response = try await model.generate("Name three rivers.").value
/// print(response.text)
/// ```
public struct Model: Sendable {
  let stored: StoredModel
  let runtime: Runtime
  let worker: Worker

  /// Opens a model: the output of a conversion, or a checkpoint of floats in any form that a conversion reads.
  ///
  /// The weights stay in the file, which is mapped. Where the model's manifest has their SHA-256, they are compared with it.
  ///
  /// ```swift
  /// let model = try await Model(at: "model", options: .init(threads: 4))
  /// ```
  ///
  /// - Parameters:
  ///   - path: The directory, or the file that is a model by itself.
  ///   - options: Threads, and how exactly is computed.
  /// - Throws: ``DibitError`` where there is no such model, or it is damaged or of a kind that Dibit does not know.
  public init(at path: String, options: Options = Options()) async throws(DibitError) {
    let worker = Worker("model")
    (stored, runtime) = try await worker.run { _ in
      let runtime = try Runtime(options)
      let stored = try StoredModel.open(path, checksWeights: options.checksWeights)
      try stored.check?.wait()
      return (stored, runtime)
    }
    self.worker = worker
  }

  /// The directory, or the file.
  public var path: String { stored.path }

  /// The name of the model: that of its directory.
  public var name: String { stored.name }

  /// The number of tokens that a text has for this model, without those that begin or end it.
  ///
  /// ```swift
  /// let fits = model.tokenCount(of: text) < model.facts.contextLength
  /// ```
  ///
  /// - Parameters:
  ///   - text: The text.
  /// - Returns: The number of tokens.
  /// - Complexity: O(bytes), some millions of them in a second.
  public func tokenCount(of text: String) -> Int {
    stored.tokenizer.encode(text, addingSpecialTokens: false, parsingSpecialTokens: false).count
  }

  /// The model as engines take it, under an adapter or under none.
  func measured(_ adapter: Adapter?) -> MeasuredModel {
    MeasuredModel(stored.configuration, weights: stored.weights, adapter: adapter?.opened.loaded)
  }
}

extension Model {
  /// Facts of a model that are known without running it.
  ///
  /// ```swift
  /// print(model.facts.architecture, model.facts.parameters)
  /// ```
  public struct Facts: Equatable, Sendable {
    /// The family, as `model_type` names it in `config.json`.
    public let architecture: String
    /// The number of parameters.
    public let parameters: Int
    /// The most tokens of a text with all that follows it.
    public let contextLength: Int
    /// The tokens that the model knows.
    public let vocabularySize: Int
    /// The number of blocks.
    public let layers: Int
    /// Channels of the residual stream, and elements of an embedding.
    public let hiddenSize: Int
    /// Bits of a weight of the linear layers; nil for a checkpoint that was not converted.
    public let bits: Int?
    /// The digest that identifies the converted weights, as SHA-256 in hexadecimal: adapters name it. Nil for a checkpoint that was not
    /// converted.
    public let digest: String?
  }

  /// The facts of the model that are known without running it.
  public var facts: Facts {
    let configuration = stored.configuration
    return Facts(
      architecture: configuration.family.rawValue, parameters: stored.weights.elementCount, contextLength: configuration.contextLength,
      vocabularySize: configuration.vocabularySize, layers: configuration.layers, hiddenSize: configuration.hiddenSize,
      bits: stored.scheme?.bits, digest: stored.digest)
  }

  /// The type of the activations that packed weights are multiplied with.
  public enum Activations: String, Equatable, Sendable, CaseIterable {
    /// 255 levels for each 64 neighbours: the fastest, and half a percent of noise in a product. Where many texts are asked about, float weights are
    /// multiplied in BF16 with it, if the CPU has instructions for that.
    case int8
    /// 32,513 levels: as exact as floats, at twice the work in a prompt.
    case int16
    /// Floats, for comparisons: slow.
    case float
  }

  /// The precision in which keys and values are kept. Models with static scales of their own use these.
  public enum CachePrecision: String, Equatable, Sendable, CaseIterable {
    /// One byte for each number, and a scale for each token and head: the smallest.
    case int8
    /// Two bytes for each number.
    case float16
    /// Four bytes for each number, for comparisons.
    case float32
  }

  /// Options for opening and running a model. The defaults are those of the command line.
  ///
  /// ```swift
  /// var options = Model.Options()
  /// options.cache = .float16
  /// ```
  public struct Options: Equatable, Sendable {
    /// Threads that share an operation, from 1 to 1024; nil for one for each core that the process may use. Results do not depend on it.
    public var threads: Int?
    /// The type of the activations that packed weights are multiplied with.
    public var activations = Activations.int8
    /// The precision in which keys and values are kept.
    public var cache = CachePrecision.int8
    /// True where opening waits until the weights were compared with the SHA-256 in the model's manifest, at some 1 to 2 GB/s.
    public var checksWeights = true

    /// The defaults.
    ///
    /// ```swift
    /// let options = Model.Options(threads: 4)
    /// ```
    ///
    /// - Parameters:
    ///   - threads: Threads that share an operation; nil for one for each core.
    public init(threads: Int? = nil) { self.threads = threads }
  }
}
