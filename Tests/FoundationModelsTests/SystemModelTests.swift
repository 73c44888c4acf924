import DibitTestSupport
import Foundation
import Testing

@testable import FoundationModels

@Suite struct SystemModelTests {
  @Test("the model is found in the environment, then in the user's data, then in the system's")
  func locations() throws {
    let test = try TestModel()
    let (own, shared) = (test.scratch("own"), test.scratch("shared"))
    func found(_ environment: [String: String]) -> String? {
      ModelLocation(
        environment.merging(["XDG_DATA_HOME": own, "XDG_DATA_DIRS": "\(test.scratch("none")):\(shared)"]) { first, _ in first }
      ).model
    }
    #expect(found([:]) == nil)
    try test.scratch.write("", to: "shared/dibit/model/config.json")
    #expect(found([:]) == shared + "/dibit/model")
    try test.scratch.write("", to: "own/dibit/model/config.json")
    #expect(found([:]) == own + "/dibit/model")
    #expect(found(["DIBIT_MODEL": "/somewhere"]) == "/somewhere" && found(["DIBIT_MODEL": ""]) == own + "/dibit/model")
  }

  @Test("availability, context and languages are those of the files")
  func facts() async throws {
    let test = try TestModel(context: 160)
    #expect(test.model.isAvailable && test.model.contextSize == 160)
    #expect(test.model.supportedLanguages.isEmpty && test.model.supportsLocale())
    let missing = SystemLanguageModel(path: test.scratch("nowhere"))
    #expect(missing.availability == .unavailable(.modelNotReady) && missing.contextSize == 0)
    try test.scratch.write("---\nlanguage:\n- en\n- 'pt-BR'\nlicense: x\n---\n# A model\n", to: "model/README.md")
    let spoken = try TestModel(context: 160)
    try spoken.scratch.write("---\nlanguage: [en, fr]\n---\n", to: "model/README.md")
    #expect(spoken.model.supportedLanguages == [Locale.Language(identifier: "en"), Locale.Language(identifier: "fr")])
    #expect(spoken.model.supportsLocale(Locale(identifier: "fr_CA")) && !spoken.model.supportsLocale(Locale(identifier: "de_DE")))
  }

  @Test("tokens are counted as the model reads them")
  func tokens() async throws {
    let test = try TestModel()
    let session = LanguageModelSession(model: test.model, instructions: "be calm")
    let response = try await session.respond(to: "the goal", options: GenerationOptions(maximumResponseTokens: 4))
    let counted = try await test.model.tokenCount(for: Array(session.transcript).dropLast())
    #expect(counted == response.usage.input.totalTokenCount)
    #expect(try await test.model.tokenCount(for: Prompt("the goal")) > 0)
    #expect(try await test.model.tokenCount(for: Instructions("be calm")) > 0)
    let (one, two) = try await (test.model.tokenCount(for: [Lookup()]), test.model.tokenCount(for: [Lookup(), Lookup("other")]))
    #expect(0 < one && one < two)
    #expect(try await test.model.tokenCount(for: Report.generationSchema) > 10)
  }

  @Test("a deny list refuses whole words and phrases, in prompts and answers alike")
  func denyList() throws {
    let list = DenyList("# names\nfoo\n  bar   Baz\n\n")
    for text in ["Foo!", "a FOO b", "bar\nbaz", "x bar, baz"] {
      #expect(throws: LanguageModelSession.GenerationError.self, "\(text)") { try list.check(text) }
    }
    for text in ["food", "bar", "baz bar", ""] { try list.check(text) }
    try list.check("a foo", isWhole: false)
    #expect(throws: LanguageModelSession.GenerationError.self) { try list.check("a foo b", isWhole: false) }
    try DenyList("\n#x\n").check("anything")
  }

  @Test("adapters are refused where there are none, and by names that none can have")
  func adapters() throws {
    let test = try TestModel()
    #expect(throws: SystemLanguageModel.Adapter.AssetError.self) {
      try SystemLanguageModel.Adapter(fileURL: URL(filePath: test.scratch("model")))
    }
    for name in ["", "a/b", "../x"] {
      #expect(
        performing: { try SystemLanguageModel.Adapter(name: name) },
        throws: { if case .invalidAdapterName? = $0 as? SystemLanguageModel.Adapter.AssetError { true } else { false } })
    }
    #expect(
      performing: { try SystemLanguageModel.Adapter(name: "no-such-adapter") },
      throws: { if case .compatibleAdapterNotFound? = $0 as? SystemLanguageModel.Adapter.AssetError { true } else { false } })
    #expect(SystemLanguageModel.Adapter.compatibleAdapterIdentifiers(name: "no-such-adapter").isEmpty)
  }
}
