internal import Dibit
internal import Foundation
public import Observation
internal import Synchronization

/// A language model on this machine.
///
/// ``default`` is found by a rule: the path in `DIBIT_MODEL`, then `dibit/model` below `XDG_DATA_HOME`, then the same below `XDG_DATA_DIRS`,
/// where the model that ships lies. Any other that Dibit converts or reads is ``init(path:useCase:guardrails:)``.
///
/// ```swift
/// guard SystemLanguageModel.default.isAvailable else { return }
/// let session = LanguageModelSession()
/// ```
public final class SystemLanguageModel: Sendable, nonisolated Observable {
  let opened: OpenedModel?
  let useCase: UseCase
  let guardrails: Guardrails
  let adapter: Adapter?

  /// The model of this machine, for general use.
  public static var `default`: SystemLanguageModel { general }
  private static let general = SystemLanguageModel()

  /// The purpose of a model.
  public struct UseCase: Sendable, Equatable {
    let name: String
    /// Conversation, writing and anything else.
    public static let general = UseCase(name: "general")
    /// Tags of texts. The adapter for tagging is used where one is installed: `DIBIT_TAGGING_ADAPTER`, or `dibit/adapters/content-tagging`
    /// below the directories of data. It puts each prompt into its own words, in which instructions are not said.
    public static let contentTagging = UseCase(name: "contentTagging")
  }

  /// Rules for what may be asked and answered.
  ///
  /// Nothing is refused unless somebody has installed a list of words: the file in `DIBIT_DENY_LIST`, or `dibit/deny-list.txt` below the
  /// directories of data, with a word or a phrase on each line, and behind `=>` what is said instead. No classifier judges what is said.
  public struct Guardrails: Sendable {
    let isPermissive: Bool
    /// Prompts and answers with a word of the installed list are refused.
    public static let `default` = Guardrails(isPermissive: false)
    /// Text may be transformed whatever words it has; values of types are checked as by ``default``.
    public static let permissiveContentTransformations = Guardrails(isPermissive: true)
  }

  /// The model of this machine for a purpose.
  ///
  /// - Parameters:
  ///   - useCase: The purpose.
  ///   - guardrails: Rules for what may be asked and answered.
  public convenience init(useCase: UseCase = .general, guardrails: Guardrails = Guardrails.default) {
    self.init(location: ModelLocation().model, useCase: useCase, guardrails: guardrails)
  }

  /// The model of this machine under an adapter.
  ///
  /// - Parameters:
  ///   - adapter: The adapter.
  ///   - guardrails: Rules for what may be asked and answered.
  public convenience init(adapter: Adapter, guardrails: Guardrails = .default) {
    self.init(location: ModelLocation().model, adapter: adapter, guardrails: guardrails)
  }

  /// A model that lies somewhere.
  ///
  /// - Parameters:
  ///   - path: The directory of a converted model or a checkpoint, or the file that is one.
  ///   - useCase: The purpose.
  ///   - guardrails: Rules for what may be asked and answered.
  public convenience init(path: String, useCase: UseCase = .general, guardrails: Guardrails = .default) {
    self.init(location: path, useCase: useCase, guardrails: guardrails)
  }

  /// A model that lies somewhere, under an adapter.
  ///
  /// - Parameters:
  ///   - path: The directory of a converted model or a checkpoint, or the file that is one.
  ///   - adapter: An adapter of this model.
  ///   - guardrails: Rules for what may be asked and answered.
  public convenience init(path: String, adapter: Adapter, guardrails: Guardrails = .default) {
    self.init(location: path, adapter: adapter, guardrails: guardrails)
  }

  init(location path: String?, useCase: UseCase = .general, adapter: Adapter? = nil, guardrails: Guardrails) {
    opened = path.map { OpenedModel.at($0) }
    self.useCase = useCase
    self.guardrails = guardrails
    let tagging = useCase == .contentTagging ? ModelLocation().taggingAdapter : nil
    self.adapter = adapter ?? tagging.flatMap { try? Adapter(fileURL: URL(filePath: $0)) }
  }

  /// A line to the model, with the adapter.
  func dialogue() async throws -> Dialogue {
    guard let opened else { throw SessionFailure.assetsUnavailable(Self.noModel).error }
    do {
      let model = try await opened.open()
      guard let adapter else { return try await Dialogue(model) }
      return try await Dialogue(model, adapter: try await model.adapter(at: adapter.path))
    } catch let error as DibitError {
      throw SessionFailure.error(for: error, isOpening: true)
    }
  }

  static let noModel = "no model is installed: set DIBIT_MODEL, or put one at 'dibit/model' below XDG_DATA_HOME"

  /// The name of what answers, for transcripts.
  var assetID: String { [opened?.path, adapter?.path].compactMap { $0?.split(separator: "/").last }.joined(separator: "+") }

  /// The list of words that an answer of this form is checked against; nil for none.
  func denied(in form: LanguageModelSession.AnswerForm) -> DenyList? {
    guardrails.isPermissive && form.schema == nil ? nil : DenyList.installed()
  }
}
