public import Foundation
internal import Synchronization

extension LanguageModelSession {
  /// Makes a file of what was said, for whoever improves the model: JSON, as `docs/formats/feedback.md` has it. It is sent nowhere.
  ///
  /// - Parameters:
  ///   - sentiment: Whether the answers were good; nil for no opinion.
  ///   - issues: Faults of the answers.
  ///   - desiredOutput: The entry that should have come.
  /// - Returns: The file.
  @discardableResult
  public final func logFeedbackAttachment(
    sentiment: LanguageModelFeedback.Sentiment?, issues: [LanguageModelFeedback.Issue] = [], desiredOutput: Transcript.Entry? = nil
  ) -> Data {
    let (transcript, rolledBack) = state.withLock { ($0.transcript, $0.rolledBack) }
    return FeedbackAttachment(
      transcript: transcript, rolledBackEntries: rolledBack, sentiment: sentiment, issues: issues, desiredOutput: desiredOutput
    ).data()
  }

  /// Makes a file of what was said, with the text that should have come.
  ///
  /// - Parameters:
  ///   - sentiment: Whether the answers were good; nil for no opinion.
  ///   - issues: Faults of the answers.
  ///   - desiredResponseText: The text that should have come.
  /// - Returns: The file.
  @discardableResult
  public final func logFeedbackAttachment(
    sentiment: LanguageModelFeedback.Sentiment?, issues: [LanguageModelFeedback.Issue] = [], desiredResponseText: String?
  ) -> Data {
    let segments = desiredResponseText.map { [Transcript.Segment.text(Transcript.TextSegment(content: $0))] }
    return logFeedbackAttachment(sentiment: sentiment, issues: issues, desiredOutput: segments.map(Self.entry))
  }

  /// Makes a file of what was said, with the value that should have come.
  ///
  /// - Parameters:
  ///   - sentiment: Whether the answers were good; nil for no opinion.
  ///   - issues: Faults of the answers.
  ///   - desiredResponseContent: The value that should have come.
  /// - Returns: The file.
  @discardableResult
  public final func logFeedbackAttachment(
    sentiment: LanguageModelFeedback.Sentiment?, issues: [LanguageModelFeedback.Issue] = [],
    desiredResponseContent: (any ConvertibleToGeneratedContent)?
  ) -> Data {
    let segments = desiredResponseContent.map { content in
      let source = String(describing: type(of: desiredResponseContent))
      return [Transcript.Segment.structure(Transcript.StructuredSegment(source: source, content: content.generatedContent))]
    }
    return logFeedbackAttachment(sentiment: sentiment, issues: issues, desiredOutput: segments.map(Self.entry))
  }

  private static func entry(_ segments: [Transcript.Segment]) -> Transcript.Entry {
    .response(Transcript.Response(assetIDs: [], segments: segments))
  }
}
