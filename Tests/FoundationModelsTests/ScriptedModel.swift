import FoundationModels
import Synchronization

/// A model whose executor does what a test says.
struct ScriptedModel: LanguageModel {
  typealias Channel = LanguageModelExecutorGenerationChannel
  typealias Script = @Sendable (LanguageModelExecutorGenerationRequest, Channel) async throws -> Void

  /// The requests that executors got, and how many executors were made.
  final class Log: Sendable, Hashable {
    private let state = Mutex<(requests: [LanguageModelExecutorGenerationRequest], made: Int, prewarmed: [Transcript])>(([], 0, []))

    var requests: [LanguageModelExecutorGenerationRequest] { state.withLock(\.requests) }
    var executors: Int { state.withLock(\.made) }
    var prewarmed: [Transcript] { state.withLock(\.prewarmed) }

    func note(_ request: LanguageModelExecutorGenerationRequest) { state.withLock { $0.requests.append(request) } }
    func noteExecutor() { state.withLock { $0.made += 1 } }
    func note(_ transcript: Transcript) { state.withLock { $0.prewarmed.append(transcript) } }

    static func == (left: Log, right: Log) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  struct Configuration: Hashable, Sendable {
    var log: Log
    var isBroken = false
  }

  struct Broken: Error {}

  var name = "scripted"
  var isBroken = false
  let log = Log()
  let capabilities: LanguageModelCapabilities
  let script: Script
  var executorConfiguration: Configuration { Configuration(log: log, isBroken: isBroken) }

  init(_ capabilities: [LanguageModelCapabilities.Capability] = [.guidedGeneration, .toolCalling], _ script: @escaping Script) {
    (self.capabilities, self.script) = (LanguageModelCapabilities(capabilities), script)
  }

  /// A model that says the words of the last prompt again, one by one.
  static func echo(_ prefix: String = "") -> ScriptedModel {
    ScriptedModel { request, channel in
      let words = (prefix + request.lastPrompt).split(separator: " ", omittingEmptySubsequences: false)
      for (index, word) in words.enumerated() {
        await channel.send(.response(action: .appendText((index == 0 ? "" : " ") + word, tokenCount: 1)))
      }
    }
  }

  struct Executor: LanguageModelExecutor {
    typealias Model = ScriptedModel
    let configuration: Configuration

    init(configuration: Configuration) throws {
      configuration.log.noteExecutor()
      if configuration.isBroken { throw Broken() }
      self.configuration = configuration
    }

    func prewarm(model: ScriptedModel, transcript: Transcript) { configuration.log.note(transcript) }

    func respond(
      to request: LanguageModelExecutorGenerationRequest, model: ScriptedModel, streamingInto channel: Channel
    ) async throws {
      configuration.log.note(request)
      try await model.script(request, channel)
    }
  }
}

extension LanguageModelExecutorGenerationRequest {
  /// The text of the last prompt.
  var lastPrompt: String {
    for case .prompt(let prompt) in transcript.reversed() { return prompt.segments.plainText }
    return ""
  }

  /// The text of the instructions; nil for none.
  var instructions: String? { if case .instructions(let first)? = transcript.first { first.segments.plainText } else { nil } }

  /// What tools gave in this turn, in order.
  var outputs: [Transcript.ToolOutput] {
    let turn = transcript.lastIndex { if case .prompt = $0 { true } else { false } } ?? 0
    return transcript[turn...].compactMap { if case .toolOutput(let output) = $0 { output } else { nil } }
  }
}

extension [Transcript.Segment] {
  var plainText: String {
    map { segment in
      if case .text(let text) = segment { return text.content }
      if case .structure(let value) = segment { return value.content.jsonString }
      return ""
    }.joined(separator: "\n")
  }
}

/// A model of this machine behind an executor of its own.
struct WrappedModel: LanguageModel {
  let model: SystemLanguageModel
  var capabilities: LanguageModelCapabilities { model.capabilities }
  var executorConfiguration: SystemLanguageModel.Executor.Configuration { model.executorConfiguration }

  struct Executor: LanguageModelExecutor {
    typealias Model = WrappedModel
    let executor: SystemLanguageModel.Executor

    init(configuration: SystemLanguageModel.Executor.Configuration) throws {
      executor = SystemLanguageModel.Executor(configuration: configuration)
    }

    func prewarm(model: WrappedModel, transcript: Transcript) { executor.prewarm(model: model.model, transcript: transcript) }

    func respond(
      to request: LanguageModelExecutorGenerationRequest, model: WrappedModel,
      streamingInto channel: LanguageModelExecutorGenerationChannel
    ) async throws {
      try await executor.respond(to: request, model: model.model, streamingInto: channel)
    }
  }
}
