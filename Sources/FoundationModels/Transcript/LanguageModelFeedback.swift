/// Opinions of an answer, for those who improve the model.
///
/// ```swift
/// let data = session.logFeedbackAttachment(
///   sentiment: .negative, issues: [LanguageModelFeedback.Issue(category: .tooVerbose, explanation: "One line was asked for.")])
/// ```
public struct LanguageModelFeedback {
  /// An opinion of an answer.
  public enum Sentiment: Sendable, CaseIterable {
    /// The answer is good.
    case positive
    /// The answer is bad.
    case negative
    /// The answer is neither.
    case neutral
  }

  /// A fault of an answer.
  public struct Issue: Sendable {
    /// The kinds of faults.
    public enum Category: Sendable, CaseIterable {
      /// The answer does not help.
      case unhelpful
      /// The answer is longer than it should be.
      case tooVerbose
      /// The answer does not do what was said.
      case didNotFollowInstructions
      /// The answer is wrong.
      case incorrect
      /// The answer is prejudiced against some people.
      case stereotypeOrBias
      /// The answer is about sex, or hints at it.
      case suggestiveOrSexual
      /// The answer is rude.
      case vulgarOrOffensive
      /// A guardrail held back an answer that is harmless.
      case triggeredGuardrailUnexpectedly
    }

    /// The kind of fault.
    let category: Category
    /// The fault in words.
    let explanation: String?

    /// A fault.
    ///
    /// - Parameters:
    ///   - category: The kind of fault.
    ///   - explanation: The fault in words; nil for none.
    public init(category: Category, explanation: String? = nil) {
      self.category = category
      self.explanation = explanation
    }
  }
}
