internal import DibitJSON
internal import Foundation

/// An answer with what somebody thinks of it: a JSON document, whose format `docs/formats/feedback.md` describes.
struct FeedbackAttachment {
  /// The conversation.
  var transcript: Transcript
  /// The entries of the last turn that failed, which the transcript has no more.
  var rolledBackEntries: [Transcript.Entry] = []
  /// The opinion of the answer.
  var sentiment: LanguageModelFeedback.Sentiment?
  /// The faults of the answer.
  var issues: [LanguageModelFeedback.Issue] = []
  /// The answer as it should have been.
  var desiredOutput: Transcript.Entry?
  /// The reason for which schemas are missing.
  private var error: String?

  /// An attachment.
  init(
    transcript: Transcript, rolledBackEntries: [Transcript.Entry] = [], sentiment: LanguageModelFeedback.Sentiment? = nil,
    issues: [LanguageModelFeedback.Issue] = [], desiredOutput: Transcript.Entry? = nil
  ) {
    (self.transcript, self.rolledBackEntries, self.desiredOutput) = (transcript, rolledBackEntries, desiredOutput)
    (self.sentiment, self.issues) = (sentiment, issues)
  }

  private enum CodingKeys: String, CodingKey { case type, version, error, sentiment, issues, transcript, rolledBackEntries, desiredOutput }
  private static let typeName = "FoundationModels.Feedback"

  /// Returns the document, indented, with its keys in the order of the alphabet.
  ///
  /// Numbers that JSON cannot express are written as strings. A turn may have failed because of its schema: schemas that cannot be written
  /// are left out, and an `error` tells of it.
  func data() -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    do { return try encoder.encode(self) } catch {
      var rest = self
      rest.transcript.entries = transcript.entries.map(\.withEncodableSchemas)
      rest.rolledBackEntries = rolledBackEntries.map(\.withEncodableSchemas)
      rest.desiredOutput = desiredOutput?.withEncodableSchemas
      rest.error = "\(error)"
      return (try? encoder.encode(rest)) ?? Data(summary(error: "\(error)").serialized(pretty: true).utf8)
    }
  }

  /// The document without the conversation.
  private func summary(error: String) -> JSONValue {
    var members = JSONObject()
    members["error"] = .string(error)
    members["issues"] = .array(
      issues.map { issue in
        var members = JSONObject()
        members["category"] = .string(issue.category.codedName)
        members["explanation"] = issue.explanation.map { .string($0) }
        return .object(members)
      })
    members["sentiment"] = sentiment.map { .string($0.codedName) }
    members["type"] = .string(Self.typeName)
    members["version"] = 1
    return .object(members)
  }
}

extension FeedbackAttachment: Encodable {
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(Self.typeName, forKey: .type)
    try container.encode(1, forKey: .version)
    try container.encodeIfPresent(error, forKey: .error)
    try container.encodeIfPresent(sentiment?.codedName, forKey: .sentiment)
    try container.encode(issues.map(CodedIssue.init), forKey: .issues)
    try container.encode(transcript, forKey: .transcript)
    try container.encode(rolledBackEntries.map(CodedEntry.init), forKey: .rolledBackEntries)
    try container.encodeIfPresent(desiredOutput.map(CodedEntry.init), forKey: .desiredOutput)
  }
}

/// A fault as the document has it.
private struct CodedIssue: Encodable {
  let category: String
  let explanation: String?

  init(_ issue: LanguageModelFeedback.Issue) { (category, explanation) = (issue.category.codedName, issue.explanation) }
}

extension Transcript.Entry {
  /// The entry without schemas that cannot be written, nor the tools that they belong to.
  fileprivate var withEncodableSchemas: Transcript.Entry {
    switch self {
    case .instructions(var instructions):
      instructions.toolDefinitions.removeAll { !$0.parameters.isEncodable }
      return .instructions(instructions)
    case .prompt(var prompt):
      if prompt.responseFormat?.schema.isEncodable == false { prompt.responseFormat = nil }
      return .prompt(prompt)
    default: return self
    }
  }
}

extension LanguageModelFeedback.Sentiment {
  /// The name of the opinion in the document.
  fileprivate var codedName: String {
    switch self {
    case .positive: "positive"
    case .negative: "negative"
    case .neutral: "neutral"
    }
  }
}

extension LanguageModelFeedback.Issue.Category {
  /// The name of the kind of fault in the document.
  fileprivate var codedName: String {
    switch self {
    case .unhelpful: "unhelpful"
    case .tooVerbose: "tooVerbose"
    case .didNotFollowInstructions: "didNotFollowInstructions"
    case .incorrect: "incorrect"
    case .stereotypeOrBias: "stereotypeOrBias"
    case .suggestiveOrSexual: "suggestiveOrSexual"
    case .vulgarOrOffensive: "vulgarOrOffensive"
    case .triggeredGuardrailUnexpectedly: "triggeredGuardrailUnexpectedly"
    }
  }
}
