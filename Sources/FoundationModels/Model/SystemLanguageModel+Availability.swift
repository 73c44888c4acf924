internal import Dibit
public import Foundation

extension SystemLanguageModel {
  /// An answer to whether the model can be used.
  @frozen
  public enum Availability: Equatable, Sendable {
    case available
    case unavailable(UnavailableReason)

    /// The reasons for which a model cannot be used.
    public enum UnavailableReason: Equatable, Hashable, Sendable {
      /// The machine cannot run it. Never the case here.
      case deviceNotEligible
      /// The user has switched models off. Never the case here.
      case appleIntelligenceNotEnabled
      /// There is no model, or it is damaged.
      case modelNotReady
    }
  }

  /// Tells whether the model can be used: its files are there and can be opened.
  public final var availability: Availability { (try? opened?.summary()) == nil ? .unavailable(.modelNotReady) : .available }

  /// True where the model can be used.
  public final var isAvailable: Bool { availability == .available }

  /// The most tokens of a conversation, its last answer among them; 0 where there is no model.
  public final var contextSize: Int { (try? opened?.summary())?.contextLength ?? 0 }

  /// The kind of the model: here every model is one of its own, named as its folder or file is; without a name where there is no model.
  public final var variant: Variant { Variant(displayName: opened.map { URL(filePath: $0.path).lastPathComponent } ?? "") }

  /// A kind of models.
  public struct Variant: Hashable, Sendable {
    /// The name that people know.
    public let displayName: String

    /// Apple's model of three billion parameters. None that runs here is.
    public static var core3: Variant { Variant(displayName: "AFM 3 Core") }
    /// Apple's larger model. None that runs here is.
    public static var coreAdvanced3: Variant { Variant(displayName: "AFM 3 Core Advanced") }
  }

  /// The languages that the model's makers name; none where they name none.
  public final var supportedLanguages: Set<Locale.Language> {
    Set(((try? opened?.summary())?.languages ?? []).map { Locale.Language(identifier: $0) })
  }

  /// Checks whether the model knows the language of a locale. Where its makers name no languages, nothing is known to be missing.
  ///
  /// - Parameter locale: The locale.
  /// - Returns: False where the makers name languages and this is none of them.
  public final func supportsLocale(_ locale: Locale = Locale.current) -> Bool {
    let known = supportedLanguages
    return known.isEmpty
      || known.contains { $0.languageCode == locale.language.languageCode && ($0.script == nil || $0.script == locale.language.script) }
  }
}
