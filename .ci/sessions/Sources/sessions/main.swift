import Foundation
import FoundationModels

// Sessions with the model in DIBIT_MODEL, four at a time: some are cancelled, some call a tool, and all others must say what a session alone says.
// Prints the memory of the process now and then.

struct Echo: Tool {
  let name = "echo"
  let description = "Says a word."
  struct Arguments: Generable {
    var word: String
    static var generationSchema: GenerationSchema {
      GenerationSchema(type: Self.self, properties: [.init(name: "word", type: String.self, guides: [.anyOf(["moon", "soup"])])])
    }
    init(_ content: GeneratedContent) throws { word = try content.value(forProperty: "word") }
    var generatedContent: GeneratedContent { GeneratedContent(properties: ["word": word]) }
  }
  func call(arguments: Arguments) async throws -> String { arguments.word }
}

let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 100
let model = SystemLanguageModel.default
let options = GenerationOptions(sampling: .random(top: 40, seed: 3), maximumResponseTokens: 16)
let prompts = ["the goal", "the soup", "the moon"]
var alone: [String] = []
for prompt in prompts { alone.append(try await LanguageModelSession(model: model).respond(to: prompt, options: options).content) }
let expected = alone
func memory() -> Int {
  let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  return text.split(separator: "\n").first { $0.hasPrefix("VmRSS") }.flatMap { Int($0.filter(\.isNumber)) } ?? 0
}
try await withThrowingTaskGroup(of: Void.self) { group in
  for number in 0..<count {
    if number >= 4 { _ = try await group.next() }
    if number % max(1, count / 5) == 0 { print(number, memory(), "kB") }
    group.addTask {
      let session = LanguageModelSession(model: model, tools: number % 5 == 0 ? [Echo()] : [])
      if number % 3 == 0 {
        let task = Task {
          for try await _ in session.streamResponse(to: "x", options: GenerationOptions(maximumResponseTokens: 300)) {}
        }
        try await Task.sleep(for: .milliseconds(number % 7 * 3))
        task.cancel()
        _ = await task.result
        guard !session.isResponding else { fatalError("busy") }
      }
      guard number % 5 != 0 else {
        _ = try await session.respond(to: prompts[number % 3], options: options)
        return
      }
      let fresh = LanguageModelSession(model: model)
      fresh.prewarm()
      let text = try await fresh.respond(to: prompts[number % 3], options: options).content
      guard text == expected[number % 3] else { fatalError("\(text) instead of \(expected[number % 3])") }
    }
  }
  try await group.waitForAll()
}
print(count, memory(), "kB, the same texts")
