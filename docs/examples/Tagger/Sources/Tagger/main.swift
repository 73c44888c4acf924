// What an app does with the library: converts a model, trains an adapter on a few texts, tags with it, writes, chooses, chats and evaluates.
// From this directory: swift run -c release Tagger ../../../recipes/base/model ../../../datasets/topics
import Dibit
import Foundation

guard CommandLine.arguments.count == 3 else { fatalError("usage: Tagger CHECKPOINT DATA") }
let (checkpoint, data) = (CommandLine.arguments[1], URL(filePath: CommandLine.arguments[2]))
let scratch = FileManager.default.temporaryDirectory.appending(path: "tagger-\(ProcessInfo.processInfo.processIdentifier)")
try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: scratch) }
func path(_ name: String) -> String { scratch.appending(path: name).path }

/// The texts of four labels: a part of the data that is learnt in seconds.
let labels = ["cooking", "finance", "music", "space"]
for split in ["train", "validation", "test"] {
  for label in labels {
    let target = scratch.appending(path: "data/\(split)/\(label)")
    try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
    let source = data.appending(path: "\(split)/\(label)")
    for file in try FileManager.default.contentsOfDirectory(at: source, includingPropertiesForKeys: nil).prefix(16) {
      try FileManager.default.copyItem(at: file, to: target.appending(path: file.lastPathComponent))
    }
  }
}

do {
  // Convert the checkpoint to two bits for each weight.
  let conversion = Model.convert(checkpoint, to: path("model"))
  for try await progress in conversion where progress.fraction == 1 { print("\(progress.stage.rawValue) is done") }
  print("\(try await conversion.value.bitsPerWeight) bits for each weight")

  let model = try await Model(at: path("model"))
  print("a \(model.facts.architecture) of \(model.facts.parameters) parameters")

  // Train an adapter, and watch.
  var options = AdapterTraining.Options()
  (options.epochs, options.rank, options.learningRate) = (3, 8, 0.003)
  let training = model.train(on: path("data"), to: path("adapter"), options: options)
  for try await event in training {
    if case .validated(let validation) = event { print("epoch \(validation.epoch): \(validation.loss) nats/token") }
  }
  let adapter = try await model.adapter(at: training.value.path)

  // A training that is cancelled leaves a checkpoint; the same call with `resumes` ends with the same bytes.
  let stopped = model.train(on: path("data"), to: path("again"), options: options)
  for try await case .step in stopped { break }
  stopped.cancel()
  do {
    _ = try await stopped.value
    print("the training was done before it could be cancelled")
  } catch {
    guard error.kind == .cancelled else { throw error }
    options.resumes = true
    _ = try await model.train(on: path("data"), to: path("again"), options: options).value
    let file = "adapter_model.safetensors"
    let (once, twice) = try (
      Data(contentsOf: URL(filePath: path("adapter/" + file))), Data(contentsOf: URL(filePath: path("again/" + file)))
    )
    guard once == twice else { fatalError("the resumed adapter differs") }
    print("a stopped training went on to the same adapter")
  }

  // Tag texts; the label, and how sure the model is.
  let texts = ["Boil the potatoes in salted water until they are soft.", "The telescope found a planet around another star."]
  for try await tagged in adapter.tag(texts) {
    print("'\(texts[tagged.index])': \(tagged.label), \((100 * (tagged.probabilities.max() ?? 0)).rounded()) %")
  }

  // Write: plain, and as JSON of a form.
  for try await piece in model.generate(.text("The kitchen was"), options: .init(maximumTokens: 16)) { print(piece, terminator: "") }
  print()
  let schema = #"{"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}}, "required": ["name"]}"#
  let person = try await model.generate("Invent a person.", options: .init(maximumTokens: 60, format: .schema(schema))).value
  guard try JSONSerialization.jsonObject(with: Data(person.text.utf8)) is [String: Any] else { fatalError("no object: \(person.text)") }
  print(person.text)

  // Choose.
  let scores = try await model.score(["food", "money"], after: "Is bread food or money?")
  guard abs(scores.reduce(0) { $0 + $1.probability } - 1) < 1e-9 else { fatalError("probabilities do not sum to one") }
  for score in scores { print(score.choice, score.probability) }

  // Chat: of the second turn only what is new is read.
  let chat = try await model.chat(system: "Answer briefly.")
  _ = try await chat.respond(to: "What is bread?", options: .init(maximumTokens: 12)).value
  let turn = try await chat.respond(to: "And butter?", options: .init(maximumTokens: 12)).value
  guard turn.readTokens < turn.promptTokens else { fatalError("the whole chat was read again") }
  print("\(chat.messages.count) messages, \(turn.readTokens) of \(turn.promptTokens) tokens read for the last")

  // Add adapters up: two halves are one.
  let sum = try await model.adapter(summing: [(adapter, 0.5), (adapter, 0.5)])
  guard try await sum.tag(texts).value.map(\.label) == adapter.tag(texts).value.map(\.label) else { fatalError("the sum tags otherwise") }

  // Evaluate: is the adapter better than the base model and than counting words?
  var evaluation = Evaluation.Options()
  (evaluation.baselines, evaluation.aloneTexts) = ([.majority, .words], 0)
  let report = try await model.evaluate(on: path("data"), adapters: [adapter], options: evaluation).value
  print(report.verdict)
  guard let base = report.runs.first, let trained = report.runs.first(where: { $0.name == adapter.path }), trained.accuracy > base.accuracy
  else { fatalError("the adapter is no better than the base model") }

  // Failures say what is wrong, and of what kind they are.
  do {
    _ = try await Model(at: path("nothing"))
    fatalError("a model that is not there was opened")
  } catch {
    guard error.kind == .missing else { throw error }
    print("as expected: \(error)")
  }
} catch {
  print("error: \(error)")
  exit(1)
}
