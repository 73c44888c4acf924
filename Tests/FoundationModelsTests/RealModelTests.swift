import Foundation
import FoundationModels
import Testing

/// A value of eight fields.
private struct Person: Generable {
  var name: String
  var age: Int
  var height: Double
  var isMarried: Bool
  var city: String
  var hobbies: [String]
  var occupation: String
  var luckyNumber: Int?

  static let cities = ["Paris", "Rome", "Berlin", "Madrid"]
  static let occupations = ["student", "teacher", "doctor", "engineer", "retired"]

  static var generationSchema: GenerationSchema {
    GenerationSchema(
      type: Self.self,
      properties: [
        .init(name: "name", description: "A first name", type: String.self, guides: [.pattern(/[A-Z][a-z]{1,11}/)]),
        .init(name: "age", type: Int.self, guides: [.range(1...99)]),
        .init(name: "height", description: "In metres", type: Double.self, guides: [.range(0.5...2.5)]),
        .init(name: "isMarried", type: Bool.self), .init(name: "city", type: String.self, guides: [.anyOf(cities)]),
        .init(name: "hobbies", type: [String].self, guides: [.count(1...3)]),
        .init(name: "occupation", type: String.self, guides: [.anyOf(occupations)]),
        .init(name: "luckyNumber", type: Int?.self, guides: [.range(0...100)]),
      ])
  }

  init(_ content: GeneratedContent) throws {
    name = try content.value(forProperty: "name")
    age = try content.value(forProperty: "age")
    height = try content.value(forProperty: "height")
    isMarried = try content.value(forProperty: "isMarried")
    city = try content.value(forProperty: "city")
    hobbies = try content.value(forProperty: "hobbies")
    occupation = try content.value(forProperty: "occupation")
    luckyNumber = try content.value(forProperty: "luckyNumber")
  }

  var generatedContent: GeneratedContent {
    GeneratedContent(
      properties: [
        "name": name, "age": age, "height": height, "isMarried": isMarried, "city": city, "hobbies": hobbies, "occupation": occupation,
        "luckyNumber": luckyNumber,
      ])
  }

  struct PartiallyGenerated: ConvertibleFromGeneratedContent {
    var keys: [String] = []
    init(_ content: GeneratedContent) throws { if case .structure(_, let keys) = content.kind { self.keys = keys } }
  }
}

private struct Weather: Tool {
  struct Arguments: Generable {
    var city: String
    static var generationSchema: GenerationSchema {
      GenerationSchema(type: Self.self, properties: [.init(name: "city", description: "The name of the city", type: String.self)])
    }
    init(_ content: GeneratedContent) throws { city = try content.value(forProperty: "city") }
    var generatedContent: GeneratedContent { GeneratedContent(properties: ["city": city]) }
  }

  let name = "getWeather"
  let description = "Returns the weather in a city."
  func call(arguments: Arguments) async throws -> String { "It is sunny and 25 degrees in \(arguments.city)." }
}

private let path = ProcessInfo.processInfo.environment["DIBIT_REAL_MODEL"]

/// A model that people use, in DIBIT_REAL_MODEL: SmolLM2-135M-Instruct at 16 or at 2 bits, for instance. What it says is printed, and its form
/// is checked.
@Suite(.enabled(if: path != nil), .serialized) struct RealModelTests {
  private let model = SystemLanguageModel(path: path ?? "")
  private let brief = GenerationOptions(sampling: .greedy, maximumResponseTokens: 60)

  @Test("ten turns, of which each reads only what is new")
  func turns() async throws {
    let session = LanguageModelSession(model: model, instructions: "You answer in one short sentence.")
    let questions = [
      "What is the capital of France?", "And of Italy?", "What is 2 plus 3?", "Name a fruit.", "Name an animal.",
      "What colour is the sky?", "What do bees make?", "Name a planet.", "What is ice made of?", "What was my first question?",
    ]
    var tokens = 0
    for question in questions {
      let response = try await session.respond(to: question, options: brief)
      print("> \(question)\n\(response.content)")
      #expect(!response.content.isEmpty)
      let read = response.usage.input.totalTokenCount - response.usage.input.cachedTokenCount
      if tokens > 0 { #expect(read < 40 && response.usage.input.totalTokenCount > tokens) }
      tokens = response.usage.input.totalTokenCount
    }
    #expect(session.transcript.count == 1 + 2 * questions.count)
    // A session from the saved transcript says what this one would.
    let saved = try JSONDecoder().decode(Transcript.self, from: JSONEncoder().encode(session.transcript))
    let again = try await LanguageModelSession(model: model, transcript: saved).respond(to: "Name a colour.", options: brief)
    #expect(try await session.respond(to: "Name a colour.", options: brief).content == again.content)
  }

  @Test("a value of eight fields, which appear one after the other")
  func values() async throws {
    let stream = LanguageModelSession(model: model).streamResponse(
      to: "Invent a person.", generating: Person.self, options: GenerationOptions(maximumResponseTokens: 200))
    var keys: [String] = []
    for try await snapshot in stream {
      #expect(snapshot.content.keys.starts(with: keys))
      keys = snapshot.content.keys
    }
    let person = try await stream.collect().content
    print(person)
    #expect(["name", "age", "height", "isMarried", "city", "hobbies", "occupation"].allSatisfy(keys.contains))
    #expect(person.name.wholeMatch(of: /[A-Z][a-z]{1,11}/) != nil && (1...99).contains(person.age) && (0.5...2.5).contains(person.height))
    #expect(Person.cities.contains(person.city) && Person.occupations.contains(person.occupation))
    #expect((1...3).contains(person.hobbies.count) && person.luckyNumber.map((0...100).contains) != false)
  }

  @Test("a tool is called with a city, and the answer follows what it gave")
  func tools() async throws {
    var options = brief
    options.toolCallingMode = .required
    let session = LanguageModelSession(model: model, tools: [Weather()], instructions: "You are a helpful assistant.")
    let response = try await session.respond(to: "What is the weather in Paris?", options: options)
    for entry in response.transcriptEntries { print(entry) }
    #expect(response.transcriptEntries.contains { if case .toolOutput(let output) = $0 { output.toolName == "getWeather" } else { false } })
    guard case .response? = response.transcriptEntries.last else {
      Issue.record("an answer expected")
      return
    }
  }

  @Test("tags are those of the schema")
  func tags() async throws {
    let topics = ["food", "sport", "travel", "money"]
    let schema = try GenerationSchema(
      root: DynamicGenerationSchema(
        name: "Tag", properties: [.init(name: "topic", schema: DynamicGenerationSchema(name: "Topic", anyOf: topics))]),
      dependencies: [])
    let session = LanguageModelSession(
      model: SystemLanguageModel(path: path ?? "", useCase: .contentTagging), instructions: "Say the topic of the text.")
    for text in ["Buy milk and two lemons.", "The match ended two to one.", "We fly to Lisbon on Friday."] {
      let topic = try await session.respond(to: text, schema: schema, options: brief).content.value(String.self, forProperty: "topic")
      print(text, topic)
      #expect(topics.contains(topic))
    }
  }
}
