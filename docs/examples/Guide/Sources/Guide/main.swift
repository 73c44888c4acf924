import Foundation
import FoundationModels

// The app of the tutorial 'an app with a private model': text, values, a tool and tags from the model in DIBIT_MODEL. With `chat` it answers the
// lines of standard input instead, as `dibit chat` does.

guard SystemLanguageModel.default.isAvailable else { fatalError("set DIBIT_MODEL to a model") }
let brief = GenerationOptions(sampling: .greedy, maximumResponseTokens: 60)

func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

if CommandLine.arguments.dropFirst().first == "chat" {
  let session = LanguageModelSession()
  while let line = readLine() {
    var shown = 0
    for try await snapshot in session.streamResponse(to: line, options: brief) {
      write(String(decoding: snapshot.content.utf8.dropFirst(shown), as: UTF8.self))
      shown = snapshot.content.utf8.count
    }
    write("\n")
  }
  exit(0)
}

write("# Ten turns\n")
let session = LanguageModelSession(instructions: "You answer in one short sentence.")
let questions = [
  "What is the capital of France?", "And of Italy?", "What is 2 plus 3?", "Name a fruit.", "Name an animal.",
  "What colour is the sky?", "What do bees make?", "Name a planet.", "What is ice made of?", "What was my first question?",
]
for question in questions {
  let response = try await session.respond(to: question, options: brief)
  let usage = response.usage.input
  write("> \(question)\n\(response.content) (\(usage.totalTokenCount - usage.cachedTokenCount) of \(usage.totalTokenCount) tokens read)\n")
  guard !response.content.isEmpty else { fatalError("an answer expected") }
}
guard session.transcript.count == 1 + 2 * questions.count else { fatalError("ten turns expected in the transcript") }

write("# A value of eight fields\n")
var snapshots = 0
let stream = LanguageModelSession().streamResponse(to: "Invent a person.", generating: Person.self)
for try await _ in stream { snapshots += 1 }
let person = try await stream.collect().content
write("\(person), in \(snapshots) snapshots\n")
guard (1...99).contains(person.age), (0.5...2.5).contains(person.height), (1...3).contains(person.hobbies.count), snapshots > 8 else {
  fatalError("a person within the guides expected, in snapshots")
}

write("# A tool\n")
let helper = LanguageModelSession(tools: [Weather()], instructions: "You are a helpful assistant.")
_ = try await helper.respond(to: "What is the weather in Paris?", options: brief)
for entry in helper.transcript { write("\(entry)\n") }
// A model may answer at once. Where it must call, it does.
var asked = brief
asked.toolCallingMode = .required
let made = try await LanguageModelSession(tools: [Weather()]).respond(to: "What is the weather in Rome?", options: asked)
guard made.transcriptEntries.contains(where: { if case .toolOutput = $0 { true } else { false } }) else { fatalError("a call expected") }

write("# Tags\n")
let tagger = LanguageModelSession(model: SystemLanguageModel(useCase: .contentTagging), instructions: "Say the topic of the text.")
for text in ["Buy milk and two lemons.", "The match ended two to one.", "We fly to Lisbon on Friday."] {
  write("\(text) \(try await tagger.respond(to: text, generating: Tag.self).content.topic)\n")
}
