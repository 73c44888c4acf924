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
      #expect(throws: DenyList.Match.self, "\(text)") { try list.check(text) }
    }
    for text in ["food", "bar", "baz bar", ""] { try list.check(text) }
    try list.check("a foo", isWhole: false)
    #expect(throws: DenyList.Match.self) { try list.check("a foo b", isWhole: false) }
    try DenyList("\n#x\n=> nothing\n").check("anything, nothing")
    for (line, explanation) in [("a b => Not => that. ", "Not => that."), ("a b=>", nil), ("a b", nil)] {
      #expect(performing: { try DenyList(line).check("A b") }, throws: { ($0 as? DenyList.Match)?.explanation == explanation })
    }
  }

  @Test("what the list explains is answered with the explanation, and refused where a value of a type was asked for")
  func refusals() async throws {
    let list = DenyList("soup => I do not cook.\nstone")
    let line = ListedLine(list: list)
    func say(_ text: String, _ form: LanguageModelSession.AnswerForm = .text) async throws -> (ModelStep, [String]) {
      var pieces: [String] = []
      let prompt = Transcript.Entry.prompt(Transcript.Prompt(segments: [.text(.init(content: text))]))
      let step = try await line.checkedStep(StepRequest(entries: [prompt], form: form), asked: [prompt], trace: SessionTrace()) { piece in
        switch piece {
        case .text(let words, _): pieces.append(words)
        case .restart: pieces = []
        }
      }
      return (step, pieces)
    }
    #expect(try await say("the moon").1 == ["the", " moon"])
    // In the prompt, and in the middle of an answer: there the tokens that were made count.
    for text in ["a soup?", "make s-o-u-p now"] {
      let (step, pieces) = try await say(text)
      #expect(step.text == "I do not cook." && pieces == ["I do not cook."])
      #expect(step.usage.output.totalTokenCount == (text.hasPrefix("make") ? 3 : 0))
    }
    let error = await failure { try await say("a soup?", LanguageModelSession.AnswerForm(Report.self, isShown: false)) }
    #if FoundationModels27
      guard case .refusal(let refusal)? = error as? LanguageModelError else {
        Issue.record("\(String(describing: error))")
        return
      }
    #else
      guard case .refusal(let refusal, _)? = error as? LanguageModelSession.GenerationError else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(refusal.transcriptEntries.count == 1)
    #endif
    #expect(words(of: error) == "the deny list has 'soup'")
    #expect(try await refusal.explanation.content == "I do not cook.")
    var explained: [String] = []
    for try await snapshot in refusal.explanationStream { explained.append(snapshot.content) }
    #expect(explained == ["I do not cook."])
    #expect(SessionFault(await failure { try await say("a stone") }) == .guardrailViolation)
  }

  @Test("a prompt in a script of none of the model's languages is refused, and one with some of it is not")
  func scripts() async throws {
    func model(_ languages: String) throws -> TestModel {
      let test = try TestModel()
      try test.scratch.write("---\nlanguage: [\(languages)]\n---\n", to: "model/README.md")
      return test
    }
    func error(_ text: String, _ test: TestModel) async -> (any Error)? {
      let session = LanguageModelSession(model: test.model)
      let error = await failure { try await session.respond(to: text, options: GenerationOptions(maximumResponseTokens: 2)) }
      #expect(error == nil || session.transcript.isEmpty)
      return error
    }
    let english = try model("en, fr")
    let refused = await error("Где река?", english)
    #expect(SessionFault(refused) == .unsupportedLanguage)
    #expect(words(of: refused) == "the makers of the model name en, fr; 7 of 7 letters of the prompt are of other scripts")
    for text in ["Où est l'été?", "Translate: река", "1, 2, 3?", ""] { #expect(await error(text, english) == nil, "\(text)") }
    let eastern = try model("ja, ru")
    for text in ["Где река?", "川はどこ", "カワ", "the goal"] { #expect(await error(text, eastern) == nil, "\(text)") }
    #expect(SessionFault(await error("강은 어디에", eastern)) == .unsupportedLanguage)
    for languages in ["", "xx"] { #expect(await error("Где река?", try model(languages)) == nil) }
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

/// A line that says the words of the prompt again, without hyphens, and keeps to a list.
private struct ListedLine: ModelLine {
  let list: DenyList
  let capabilities = LanguageModelCapabilities([.guidedGeneration])
  let assetID: String? = nil

  func denied(in form: LanguageModelSession.AnswerForm) -> DenyList? { list }

  func step(_ request: StepRequest, trace: SessionTrace, _ receive: (StepPiece) throws -> Void) async throws -> ModelStep {
    guard case .prompt(let prompt)? = request.entries.last else { return ModelStep() }
    var step = ModelStep()
    for word in prompt.text.replacing("-", with: "").split(separator: " ") {
      let piece = (step.text.isEmpty ? "" : " ") + word
      step.text += piece
      step.usage.output.totalTokenCount += 1
      try receive(.text(piece, step.usage))
    }
    return step
  }

  func prewarm(_ request: StepRequest, trace: SessionTrace) async throws {}
}
