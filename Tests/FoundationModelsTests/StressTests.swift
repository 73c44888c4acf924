import Foundation
import FoundationModels
import Testing

/// Many schemas and many sessions; with DIBIT_STRESS=10000 as many of each.
@Suite struct StressTests {
  private static let count = ProcessInfo.processInfo.environment["DIBIT_STRESS"].flatMap { Int($0) }

  private struct Random: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ state >> 29
    }
  }

  private static func schema(_ random: inout Random, depth: Int, _ names: inout Int) -> DynamicGenerationSchema {
    names += 1
    let name = "T\(names)"
    switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &random) {
    case 0: return DynamicGenerationSchema(type: Bool.self)
    case 1: return DynamicGenerationSchema(type: Int.self, guides: [.range(-5...Int.random(in: 5...500, using: &random))])
    case 2: return DynamicGenerationSchema(type: Double.self, guides: [.minimum(0.5), .maximum(2)])
    case 3: return DynamicGenerationSchema(name: name, anyOf: ["moon", "mo", "soup \"hot\"", "日本"])
    case 4: return DynamicGenerationSchema(type: String.self, guides: [.pattern(/[a-z]{1,4}é?/)])
    case 5: return DynamicGenerationSchema(type: String.self, guides: [.constant("a\\b")])
    case 6:
      return DynamicGenerationSchema(
        arrayOf: schema(&random, depth: depth - 1, &names), minimumElements: 1, maximumElements: Int.random(in: 1...3, using: &random))
    case 7:
      let members = (0..<Int.random(in: 1...2, using: &random)).map {
        // Choices are told apart by what they are.
        DynamicGenerationSchema(
          name: "\(name)_\($0)", properties: [.init(name: "k\($0)", schema: schema(&random, depth: depth - 1, &names))])
      }
      return DynamicGenerationSchema(name: name, anyOf: members)
    default:
      let properties = (0..<Int.random(in: 1...3, using: &random)).map { index in
        DynamicGenerationSchema.Property(
          name: ["a", "ü", "long name"][index], schema: schema(&random, depth: depth - 1, &names),
          isOptional: Bool.random(using: &random))
      }
      return DynamicGenerationSchema(name: name, properties: properties)
    }
  }

  @Test("random schemas: every snapshot can be read and keeps its identity, and the last is the answer")
  func schemas() async throws {
    let test = try TestModel(context: 4096)
    var random = Random(state: 7)
    for number in 0..<(Self.count ?? 60) {
      var names = 0
      let schema = try GenerationSchema(root: Self.schema(&random, depth: 3, &names), dependencies: [])
      let options = GenerationOptions(sampling: .random(top: 30, seed: UInt64(number)), maximumResponseTokens: 1500)
      let stream = LanguageModelSession(model: test.model).streamResponse(to: "x", schema: schema, options: options)
      var last: GeneratedContent?
      for try await snapshot in stream {
        #expect(last == nil || last?.id == snapshot.content.id)
        last = snapshot.content
      }
      let streamed = try #require(last)
      let whole = try await LanguageModelSession(model: test.model).respond(to: "x", schema: schema, options: options).content
      #expect(streamed.isComplete && streamed.jsonString == whole.jsonString, "\(number): \(schema.debugDescription)")
    }
  }

  @Test("sessions side by side with cancellation: none is stuck, and texts are those of sessions one after the other")
  func sessions() async throws {
    let test = try TestModel()
    let options = GenerationOptions(sampling: .random(top: 40, seed: 3), maximumResponseTokens: 16)
    let prompts = ["the goal", "the soup", "the moon"]
    var alone: [String] = []
    for prompt in prompts { alone.append(try await LanguageModelSession(model: test.model).respond(to: prompt, options: options).content) }
    let expected = alone
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<(Self.count ?? 40) {
        if number >= 4 { _ = try await group.next() }
        group.addTask {
          let session = LanguageModelSession(model: test.model)
          if number % 3 == 0 {
            let error = await failure(cancelledWithin: 20) { try await session.respond(to: "x", generating: LongList.self).content }
            #expect(error is CancellationError)
            #expect(!session.isResponding && session.transcript.isEmpty)
          }
          let text = try await session.respond(to: prompts[number % 3], options: options).content
          #expect(text == expected[number % 3])
        }
      }
      try await group.waitForAll()
    }
  }
}
