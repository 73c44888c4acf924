import Testing

@testable import FoundationModels

@Suite struct OptionsTests {
  @Test func nothingIsSetAtFirst() {
    let options = GenerationOptions()
    #expect(options.sampling == nil)
    #expect(options.samplingMode == nil)
    #expect(options.temperature == nil)
    #expect(options.maximumResponseTokens == nil)
    #expect(options.toolCallingMode == nil)
  }

  @Test func callsOfBothReleasesCompile() {
    let older = GenerationOptions(sampling: .random(top: 40, seed: 7), temperature: 0.5, maximumResponseTokens: 9)
    let newer = GenerationOptions(samplingMode: .random(top: 40, seed: 7), temperature: 0.5, maximumResponseTokens: 9)
    #expect(older == newer)
    #expect(GenerationOptions(temperature: 0.5).temperature == 0.5)
    #expect(GenerationOptions(maximumResponseTokens: 3).maximumResponseTokens == 3)
    #expect(GenerationOptions(samplingMode: nil, temperature: nil) == GenerationOptions())
    #expect(GenerationOptions(sampling: .greedy).sampling == .greedy)
    #expect(
      GenerationOptions(samplingMode: nil, temperature: 0.2, maximumResponseTokens: 200, toolCallingMode: .required).temperature == 0.2)
    #expect(GenerationOptions(toolCallingMode: .disallowed).toolCallingMode == .disallowed)
  }

  @Test func bothNamesOfTheSamplingAreOneStorage() {
    var options = GenerationOptions(sampling: .greedy)
    #expect(options.samplingMode == .greedy)
    options.samplingMode = .random(probabilityThreshold: 0.9)
    #expect(options.sampling == .random(probabilityThreshold: 0.9, seed: nil))
    options.sampling = nil
    #expect(options.samplingMode == nil)
  }

  @Test func samplingModesTellTheirKind() {
    #expect(GenerationOptions.SamplingMode.greedy.kind == .greedy)
    #expect(GenerationOptions.SamplingMode.random(top: 5).kind == .randomTopK(5, seed: nil))
    switch GenerationOptions.SamplingMode.random(probabilityThreshold: 0.5, seed: 3).kind {
    case .randomProbabilityThreshold(let threshold, let seed):
      #expect(threshold == 0.5)
      #expect(seed == 3)
    case .greedy, .randomTopK: Issue.record("expected a threshold")
    }
    #expect(GenerationOptions.SamplingMode.random(top: 5, seed: 1) != .random(top: 5, seed: 2))
    #expect(GenerationOptions.SamplingMode.random(top: 1) != .random(probabilityThreshold: 1))
  }

  @Test func toolCallingModesTellTheirKind() {
    let options = GenerationOptions(toolCallingMode: .required)
    #expect(options.toolCallingMode?.kind == .required)
    #expect(options.toolCallingMode != .allowed)
    #expect(GenerationOptions.ToolCallingMode.disallowed.kind == .disallowed)
    #expect(options != GenerationOptions())
  }
}

/// A tool that says no more than it has to.
private struct Search: Tool {
  let description = "Finds rivers."
  struct Arguments: ConvertibleFromGeneratedContent {
    var name: String
    init(_ content: GeneratedContent) throws { name = try content.value(forProperty: "name") }
  }
  var parameters: GenerationSchema { River.generationSchema }
  func call(arguments: Arguments) async throws -> String { "\(arguments.name) flows." }
}

/// A tool whose arguments have a schema of their own.
private struct Measure: Tool {
  let name = "measure"
  let description = "Measures rivers."
  let includesSchemaInInstructions = false
  func call(arguments: River) async throws -> River { arguments }
}

/// A tool that bridges to some other protocol.
private struct Bridge: Tool {
  let name: String
  let description: String
  let parameters: GenerationSchema
  func call(arguments: GeneratedContent) async throws -> GeneratedContent { arguments }
}

/// A tool on bare text, which is fine with a schema of its own.
private struct Echo: Tool {
  let description = "Says it again."
  var parameters: GenerationSchema { String.generationSchema }
  func call(arguments: String) async throws -> Prompt { Prompt(arguments) }
}

@Suite struct ToolTests {
  @Test func defaultsComeFromTheType() {
    #expect(Search().name == "Search")
    #expect(Search().includesSchemaInInstructions)
    #expect(Measure().name == "measure")
    #expect(!Measure().includesSchemaInInstructions)
    #expect(Measure().parameters.isSame(as: River.generationSchema))
    #expect(Echo().parameters.isSame(as: String.generationSchema))
  }

  @Test func toolsCallThroughTheProtocol() async throws {
    let content = try GeneratedContent(json: #"{"name": "Elbe", "length": 1094}"#)
    func output(of tool: some Tool) async throws -> [Transcript.Segment] {
      Transcript.segments(of: try await tool.call(arguments: .init(content)))
    }
    let tools: [any Tool] = [Search(), Measure(), Bridge(name: "bridge", description: "", parameters: River.generationSchema)]
    var texts: [String] = []
    for tool in tools { texts.append(try await output(of: tool).text) }
    #expect(texts == ["Elbe flows.", #"{"name": "Elbe", "length": 1094}"#, #"{"name": "Elbe", "length": 1094}"#])
  }
}
