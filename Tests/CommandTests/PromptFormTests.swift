import DibitJSON
import DibitTestSupport
import DibitTokenizer
import Testing

/// A model with a chat template beside it, as instruct models have one, and data.
struct ChatWorkplace {
  let scratch = Scratch()
  var model: String { scratch("model") }
  var data: String { scratch("data") }

  static let chatML =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    + "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

  init(template: String? = ChatWorkplace.chatML, perLabel: Int = 6) throws {
    var checkpoint = try TinyCheckpoint.llama()
    checkpoint.tokenizer = try Tokenizer.training(
      on: TinyCheckpoint.sentences, vocabularySize: TinyCheckpoint.vocabulary - 8,
      specialTokens: ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    ).serialized()
    let source = try checkpoint.write(to: scratch)
    if let template { try write(template, to: "source") }
    try #require(try dibit("convert", source, "--output", model).status == 0)
    try writeTopics(to: scratch, perLabel: perLabel)
  }

  /// Puts a chat template beside a model.
  func write(_ template: String, to directory: String) throws {
    let settings: JSONValue = ["eos_token": "<|im_end|>", "chat_template": .string(template)]
    try scratch.write(settings.serialized(), to: directory + "/tokenizer_config.json")
  }

  @discardableResult
  func train(_ name: String, _ options: String...) throws -> Outcome {
    let outcome = try dibit(["train", model, "--data", data, "-o", scratch(name), "--epochs", "1", "--rank", "4"] + options)
    try #require(outcome.status == 0, "\(outcome.errors)")
    return outcome
  }

  func predict(_ adapter: String) throws -> String {
    let outcome = try dibit("predict", model, "--adapter", scratch(adapter), data + "/food", "--format", "jsonl", "--scores")
    try #require(outcome.status == 0, "\(outcome.errors)")
    return outcome.output
  }
}

@Suite struct PromptFormTests {
  private static let note = "note: prompts are put into the model's chat template; --prompt-form plain goes without\n"

  @Test("an instruct model is trained, asked and shown in its chat template")
  func chats() throws {
    let work = try ChatWorkplace()
    #expect(try work.train("chat").errors.hasPrefix(Self.note))
    let task = try JSONValue(parsing: try contents(work.scratch("chat/manifest.json")))["task"]
    #expect(task?["form"] == "chat" && task?["chat_template_sha256"]?.string?.count == 64)
    let preview = try dibit("dataset", work.data, "--model", work.model, "--preview", "1").output.replacing("\\|", with: "¦").replacing(
      "|", with: "")
    #expect(preview.contains("<¦im_start¦>system\\n"), "\(preview)")
    #expect(preview.contains("<¦im_end¦>\\n<¦im_start¦>user\\n") && preview.contains("<¦im_start¦>assistant\\n"), "\(preview)")
    let plain = try dibit("dataset", work.data, "--model", work.model, "--preview", "1", "--prompt-form", "plain").output
    #expect(!plain.contains("im_start"))

    let outcome = try work.train("plain", "--prompt-form", "plain")
    #expect(!outcome.errors.contains("chat template"))
    #expect(try work.predict("plain") != work.predict("chat"))
    let evaluated = try dibit(
      "evaluate", work.model, "--adapter", work.scratch("chat"), "--data", work.data, "--allow-leakage", "--split", "train", "--json")
    #expect(evaluated.status == 0, "\(evaluated.errors)")
    // Without an adapter the model is asked as it would be trained.
    let base = try dibit("evaluate", work.model, "--data", work.data, "--allow-leakage", "--split", "train", "--json")
    #expect(base.errors.contains(Self.note))
    func loss(_ outcome: Outcome) throws -> Double? {
      try outcome.json()["runs"]?.array?.first { $0["name"] == "base" }?["log_loss"]?.double
    }
    #expect(try loss(base) != nil && loss(base) == loss(evaluated))
    let lines = try dibit(
      "evaluate", work.model, "--data", work.data, "--allow-leakage", "--split", "train", "--prompt-form", "plain", "--json")
    #expect(try loss(lines) != loss(base))
    try expectFailure(
      ["evaluate", work.model, "--adapter", work.scratch("chat"), "--data", work.data, "--prompt-form", "plain"], status: 64,
      message: "--prompt-form: an adapter is asked as it was trained; expected no --adapter beside it; see 'dibit evaluate --help'")
  }

  @Test("adapters with prompts of different forms are compared, each asked as it was trained")
  func formsBesideEachOther() throws {
    let work = try ChatWorkplace()
    try work.train("chat")
    try work.train("plain", "--prompt-form", "plain")
    let (chat, plain) = (work.scratch("chat"), work.scratch("plain"))
    let call = ["evaluate", work.model, "--data", work.data, "--allow-leakage", "--split", "train", "--baselines", "none", "--json"]
    func report(_ adapters: String...) throws -> JSONValue {
      let outcome = try dibit(call + adapters.flatMap { ["--adapter", $0] } + ["--alone", "0", "--resamples", "100"])
      #expect(outcome.status == 0, "\(outcome.errors)")
      return try outcome.json()
    }
    func losses(_ report: JSONValue) -> [Double?] { report["runs"]?.array?.map { $0["log_loss"]?.double } ?? [] }
    let (both, first, second) = (try report(chat, plain), try report(chat), try report(plain))
    #expect(losses(both) == losses(first) + losses(second).dropFirst())
    #expect(both["comparisons"]?.array?.contains { $0["a"] == .string(chat) && $0["b"] == .string(plain) } == true)
    #expect(
      both["notes"]?.array?.contains {
        $0["text"]?.string
          == "Prompts of adapters have different forms, each as it was trained ('\(chat)' the chat template, '\(plain)' lines); the others "
          + "are asked in the chat template."
      } == true, "\(both["notes"]?.serialized() ?? "")")
  }

  @Test("an adapter of before there were forms is asked as ever, byte for byte")
  func olderAdapters() throws {
    let work = try ChatWorkplace()
    try work.train("plain", "--prompt-form", "plain")
    var manifest = try #require(try JSONValue(parsing: try contents(work.scratch("plain/manifest.json"))).object)
    #expect(manifest["task"]?["form"] == "plain")
    let predicted = try work.predict("plain")
    try work.scratch.copy(work.scratch("plain"), to: "older")
    manifest["task"] = [
      "instruction": "Tag the text with its topic.", "key": "topics", "max_tokens": 256,
    ]
    try work.scratch.write(JSONValue.object(manifest).serialized(pretty: true) + "\n", to: "older/manifest.json")
    #expect(try work.predict("older") == predicted)
    manifest["task"] = ["instruction": "Tag", "key": "topics", "max_tokens": 256, "form": "odd"]
    try work.scratch.write(JSONValue.object(manifest).serialized(), to: "older/manifest.json")
    try expectFailure(
      ["predict", work.model, "--adapter", work.scratch("older"), work.data], status: 65,
      message:
        "'\(work.scratch("older"))/manifest.json': 'task': expected 'chat' with a digest of its template, 'turns' or 'plain' as its form, found an object"
    )
  }

  @Test func aChangedTemplateIsTold() throws {
    let work = try ChatWorkplace()
    try work.train("chat")
    let manifest = try JSONValue(parsing: try contents(work.scratch("chat/manifest.json")))
    let digest = try #require(manifest["task"]?["chat_template_sha256"]?.string).prefix(12)
    try work.scratch.remove("model/tokenizer_config.json")
    let adapter = work.scratch("chat")
    let fault =
      "adapter '\(adapter)' was trained in the chat template \(digest) and '\(work.model)' has none: put that template back, or train again"
    try expectFailure(["predict", work.model, "--adapter", adapter, work.data], status: 65, message: fault)
    try expectFailure(["evaluate", work.model, "--adapter", adapter, "--data", work.data], status: 65, message: fault)
    try expectFailure(
      ["train", work.model, "--data", work.data, "-o", work.scratch("no"), "--prompt-form", "chat"], status: 65,
      message: "'\(work.model)': a chat template to put prompts into expected, none found; --prompt-form plain goes without")
  }

  @Test("a template that cannot be used costs nothing but itself", arguments: ["{{ messages | length }}", "{% include 'x' %}"])
  func unfitTemplates(template: String) throws {
    let work = try ChatWorkplace(template: template)
    let outcome = try work.train("plain")
    #expect(
      outcome.errors.hasPrefix("note: prompts are plain lines, because the model's chat template cannot be used: "), "\(outcome.errors)")
    let manifest = try JSONValue(parsing: try contents(work.scratch("plain/manifest.json")))
    #expect(manifest["task"]?["form"] == "plain")
    #expect(try work.predict("plain").contains("topics"))
  }

  @Test func recipesChooseToo() throws {
    let work = try ChatWorkplace()
    let recipe = try work.scratch.write("prompt: {form: plain}\n", to: "recipe.yaml")
    try work.train("plain", "--recipe", recipe)
    try work.train("chat", "--recipe", recipe, "--prompt-form", "chat")
    func form(_ name: String) throws -> JSONValue? {
      try JSONValue(parsing: try contents(work.scratch(name + "/manifest.json")))["task"]?["form"]
    }
    #expect(try form("plain") == "plain" && form("chat") == "chat")
    let turns = try Workplace()
    #expect(try dibit("train", turns.model, "--data", turns.data, "-o", turns.adapter, "--epochs", "1", "--rank", "4").status == 0)
    #expect(try JSONValue(parsing: try contents(turns.adapter + "/manifest.json"))["task"]?["form"] == "turns")
  }

  @Test("a text is the same with a line end behind it and as a line")
  func lineEnds() throws {
    let work = try Workplace(adapter: true)
    func predict(_ options: String...) throws -> [Substring] {
      let outcome = try dibit(["predict", work.model, "--adapter", work.adapter] + options + ["-"], input: "soup and bread\n")
      return outcome.output.split(separator: "\t").dropFirst().map { $0 }
    }
    #expect(try predict().count == 2)
    #expect(try predict() == predict("--lines"))
  }
}
