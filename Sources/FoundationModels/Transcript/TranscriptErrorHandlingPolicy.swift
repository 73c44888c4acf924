/// The fate of the entries of a turn that fails.
public struct TranscriptErrorHandlingPolicy: Sendable {
  let isPreserving: Bool

  /// The transcript is again as it was before the turn.
  public static let revertTranscript = TranscriptErrorHandlingPolicy(isPreserving: false)
  /// The prompt, and the calls of tools with what they gave, stay.
  public static let preserveTranscript = TranscriptErrorHandlingPolicy(isPreserving: true)
}
