import DibitJSON
import Foundation
import Testing

@testable import FoundationModels

/// Schemas as clients of the framework build them.
@Suite struct ClientSchemaTests {
  @Test("inline schemas of one name are told apart by what they are")
  func equalNames() async throws {
    for name in ["Item", ""] {
      let first = DynamicGenerationSchema(name: name, properties: [.init(name: "a", schema: DynamicGenerationSchema(type: Bool.self))])
      let second = DynamicGenerationSchema(name: name, properties: [.init(name: "b", schema: DynamicGenerationSchema(type: Bool.self))])
      let root = DynamicGenerationSchema(
        name: "Root",
        properties: [
          .init(name: "one", schema: first),
          .init(name: "two", schema: DynamicGenerationSchema(arrayOf: second, minimumElements: 1, maximumElements: 1)),
        ])
      let schema = try GenerationSchema(root: root, dependencies: [])
      let test = try TestModel()
      let content = try await LanguageModelSession(model: test.model).respond(to: "x", schema: schema).content
      let one: GeneratedContent = try content.value(forProperty: "one")
      let two: [GeneratedContent] = try content.value(forProperty: "two")
      _ = try (one.value(Bool.self, forProperty: "a"), two[0].value(Bool.self, forProperty: "b"))
    }
  }

  @Test("any schema may be the root")
  func roots() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model)
    let roots = [
      DynamicGenerationSchema(type: Bool.self), DynamicGenerationSchema(type: Int.self, guides: [.range(1...3)]),
      DynamicGenerationSchema(arrayOf: DynamicGenerationSchema(type: Bool.self), minimumElements: 1, maximumElements: 2),
      DynamicGenerationSchema(
        name: "Either",
        anyOf: [
          DynamicGenerationSchema(name: "A", properties: [.init(name: "a", schema: DynamicGenerationSchema(type: Bool.self))]),
          DynamicGenerationSchema(name: "B", properties: [.init(name: "b", schema: DynamicGenerationSchema(type: Bool.self))]),
        ]),
    ]
    for root in roots {
      let schema = try GenerationSchema(root: root, dependencies: [])
      #expect(try await session.respond(to: "x", schema: schema).content.isComplete)
      #expect((try? JSONValue(parsing: schema.debugDescription)) != nil, "\(schema.debugDescription)")
    }
  }

  @Test("open bounds are none")
  func openBounds() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model)
    let whole = DynamicGenerationSchema(type: Int.self, guides: [.range(0...Int.max)])
    #expect(try await session.respond(to: "x", schema: GenerationSchema(root: whole, dependencies: [])).content.value(Int.self) >= 0)
    let negative = DynamicGenerationSchema(type: Int.self, guides: [.range(Int.min ... -1)])
    #expect(try await session.respond(to: "x", schema: GenerationSchema(root: negative, dependencies: [])).content.value(Int.self) < 0)
    let real = DynamicGenerationSchema(
      type: Double.self, guides: [.range(-Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude)])
    #expect(try await session.respond(to: "x", schema: GenerationSchema(root: real, dependencies: [])).content.value(Double.self).isFinite)
  }

  @Test("an error's code is the number of its case, as bridged errors have it")
  func codes() {
    let context = LanguageModelSession.GenerationError.Context(debugDescription: "x")
    let errors: [LanguageModelSession.GenerationError] = [
      .exceededContextWindowSize(context), .assetsUnavailable(context), .guardrailViolation(context), .unsupportedGuide(context),
    ]
    #expect(errors.map { ($0 as NSError).code } == [0, 1, 2, 3])
    #expect(errors[0].errorDescription?.contains("context window") == true)
  }
}
