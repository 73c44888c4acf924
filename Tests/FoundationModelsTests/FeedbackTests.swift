import Foundation
import Testing

@testable import FoundationModels

private func members(_ attachment: FeedbackAttachment) throws -> [String: Any] {
  try #require(try JSONSerialization.jsonObject(with: attachment.data()) as? [String: Any])
}

@Suite struct FeedbackTests {
  @Test func allMembersAreThere() throws {
    let attachment = FeedbackAttachment(
      transcript: Transcript(entries: conversation), rolledBackEntries: [conversation[1]], sentiment: .negative,
      issues: [
        LanguageModelFeedback.Issue(category: .tooVerbose, explanation: "One line was asked for."),
        LanguageModelFeedback.Issue(category: .incorrect),
      ], desiredOutput: conversation[4])
    let found = try members(attachment)
    #expect(Set(found.keys) == ["type", "version", "sentiment", "issues", "transcript", "rolledBackEntries", "desiredOutput"])
    #expect(found["type"] as? String == "FoundationModels.Feedback")
    #expect(found["version"] as? Int == 1)
    #expect(found["sentiment"] as? String == "negative")
    #expect(
      found["issues"] as? NSArray == [["category": "tooVerbose", "explanation": "One line was asked for."], ["category": "incorrect"]])
    let transcript = try JSONSerialization.jsonObject(with: JSONEncoder().encode(Transcript(entries: conversation))) as? NSDictionary
    #expect(found["transcript"] as? NSDictionary == transcript)
    let entries = try #require((transcript?["transcript"] as? [String: Any])?["entries"] as? [NSDictionary])
    #expect(found["rolledBackEntries"] as? NSArray == [entries[1]])
    #expect(found["desiredOutput"] as? NSDictionary == entries[4])
  }

  @Test func whatIsNotSaidIsLeftOut() throws {
    let found = try members(FeedbackAttachment(transcript: Transcript()))
    #expect(Set(found.keys) == ["type", "version", "issues", "transcript", "rolledBackEntries"])
    #expect((found["issues"] as? [Any])?.isEmpty == true)
    #expect((found["rolledBackEntries"] as? [Any])?.isEmpty == true)
  }

  @Test func sentimentsAndCategoriesHaveTheirNames() throws {
    for sentiment in LanguageModelFeedback.Sentiment.allCases {
      #expect(try members(FeedbackAttachment(transcript: Transcript(), sentiment: sentiment))["sentiment"] as? String == "\(sentiment)")
    }
    #expect(LanguageModelFeedback.Sentiment.allCases.count == 3)
    let categories = LanguageModelFeedback.Issue.Category.allCases
    #expect(categories.count == 8)
    let issues = categories.map { LanguageModelFeedback.Issue(category: $0) }
    let found = try members(FeedbackAttachment(transcript: Transcript(), issues: issues))["issues"] as? [[String: String]]
    #expect(found?.map { $0["category"] } == categories.map { "\($0)" })
  }

  @Test func theSameFeedbackIsTheSameBytes() {
    let attachment = FeedbackAttachment(transcript: Transcript(entries: conversation), sentiment: .positive)
    #expect(attachment.data() == attachment.data())
  }

  @Test func numbersThatJSONCannotExpressAreStrings() throws {
    let prompt = Transcript.Prompt(id: "p", segments: [], options: GenerationOptions(temperature: .infinity))
    let found = try members(FeedbackAttachment(transcript: Transcript(), rolledBackEntries: [.prompt(prompt)]))
    let options = (found["rolledBackEntries"] as? [[String: Any]])?.first?["options"] as? [String: Any]
    #expect(options?["temperature"] as? String == "Infinity")
  }

  @Test func schemasThatCannotBeWrittenAreLeftOut() throws {
    // A schema whose names come twice is found out when it is used.
    let property = GenerationSchema.Property(name: "name", type: String.self)
    let schema = GenerationSchema(type: River.self, properties: [property, property])
    try #require(!schema.isEncodable)
    let prompt = Transcript.Prompt(id: "p", segments: [], responseFormat: Transcript.ResponseFormat(schema: schema))
    let instructions = Transcript.Instructions(
      id: "i", segments: [],
      toolDefinitions: [
        Transcript.ToolDefinition(name: "bad", description: "", parameters: schema),
        Transcript.ToolDefinition(name: "good", description: "", parameters: River.generationSchema),
      ])
    let found = try members(
      FeedbackAttachment(
        transcript: Transcript(entries: [.instructions(instructions)]), rolledBackEntries: [.prompt(prompt)], sentiment: .negative))
    #expect((found["error"] as? String)?.isEmpty == false)
    #expect(found["sentiment"] as? String == "negative")
    #expect(found["rolledBackEntries"] as? NSArray == [["role": "user", "id": "p", "contents": [], "options": [:]] as NSDictionary])
    let transcript = try #require((found["transcript"] as? [String: Any])?["transcript"] as? [String: Any])
    let tools = try #require((transcript["entries"] as? [[String: Any]])?.first?["tools"] as? [[String: Any]])
    #expect(tools.map { ($0["function"] as? [String: Any])?["name"] as? String } == ["good"])
  }
}
