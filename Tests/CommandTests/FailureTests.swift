import DibitJSON
import DibitTestSupport
import Foundation
import Testing

/// Failures of inputs and outputs: the code of sysexits.h, one line, nothing on standard output, nothing left behind.
@Suite struct FailureTests {
  @Test func missingInputs() throws {
    let scratch = Scratch()
    let none = scratch("none")
    let model = try Workplace()
    let config = "'\(none)': no such file or directory"
    try expectFailure(["convert", none, "-o", scratch("m")], status: 66, message: config)
    try expectFailure(["inspect", none], status: 66, message: "'\(none)': no such file or directory")
    try expectFailure(["train", none, "--data", model.data, "-o", scratch("a")], status: 66, message: config)
    try expectFailure(["generate", none, "--prompt", "p"], status: 66, message: config)
    try expectFailure(["perplexity", none, "--data", none], status: 66, message: config)
    try expectFailure(
      ["train", model.model, "--data", none, "-o", scratch("a")], status: 66, message: "'\(none)' does not exist; check the path")
    try expectFailure(["evaluate", model.model, "--data", none], status: 66, message: "'\(none)' does not exist; check the path")
    try expectFailure(["perplexity", model.model, "--data", none], status: 66, message: "'\(none)' does not exist; check the path")
    try expectFailure(
      ["predict", model.model, "--adapter", none, "x"], status: 66, message: config)
    try expectFailure(
      ["evaluate", model.model, "--data", model.data, "--adapter", none], status: 66,
      message: config)
    try expectFailure(["pretrain", none, "-o", scratch("p")], status: 66, message: "'\(none)': no such file or directory")
    // Text that is missing is told before a tokenizer is trained on the text that is there.
    let texts = Scratch()
    let shape = "model: {hidden_dim: 32, num_layers: 1, num_heads: 2, num_kv_heads: 1}\nsteps: 1"
    for (data, heldOut) in [(none, model.data), (model.data, none)] {
      let recipe = try texts.write("data: \(data)\nvalidation_data: \(heldOut)\n\(shape)\n", to: "recipe.yaml")
      try expectFailure(["pretrain", recipe, "-o", scratch("p")], status: 66, message: "'\(none)' does not exist; check the path")
    }
    try expectFailure(
      ["train", model.model, "--data", model.data, "-o", scratch("a"), "--recipe", none], status: 66,
      message: "'\(none)': no such file or directory")
    #expect(scratch.names == [])
  }

  @Test func damagedCheckpoint() throws {
    let scratch = Scratch()
    var tiny = try TinyCheckpoint.llama()
    tiny["model.layers.1.mlp.up_proj.weight"].values[64 * 3 + 5] = .nan
    let source = try tiny.write(to: scratch)
    try expectFailure(
      ["convert", source, "-o", scratch("model")], status: 65,
      message: "converting '\(source)': tensor 'model.layers.1.mlp.up_proj.weight': the element at [3, 5] is nan: "
        + "the checkpoint is damaged, a converted model could not work", isLate: true)
    #expect(scratch.names == ["source"])
  }

  private static let pretrainingKeys =
    "adam_beta1, adam_beta2, batch_size, compute_dtype, data, ema_decay, embedding_learning_rate, grad_clip, initial, keep, "
    + "learning_rate, lr_schedule, max_seq_length, micro_batch_tokens, model, parse_special_tokens, patience, quantization, save_every, seed, steps, validation_data, "
    + "validation_interval, warmup, watchdog, weight_decay"

  @Test func badData() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    try expectFailure(
      ["train", source, "--data", scratch("data"), "-o", scratch("a")], status: 65,
      message:
        "'\(source)' is a checkpoint, not a converted model: run 'dibit convert \(source) --output MODEL' first (--bits 32 keeps its weights)"
    )
    let work = try Workplace()
    try scratch.write("text", to: "one/a/1.txt")
    try expectFailure(
      ["train", work.model, "--data", scratch("one"), "-o", scratch("a")], status: 65,
      message: "all texts in '\(scratch("one"))' have the label 'a', expected at least two labels; add a folder for each other label, "
        + "or pass the folder that holds the label folders")
    let recipe = try scratch.write("epochs: 2\nlerning_rate: 1e-3\n", to: "recipe.yaml")
    try expectFailure(
      ["train", work.model, "--data", work.data, "-o", scratch("a"), "--recipe", recipe], status: 65,
      message: "\(recipe):2: unknown key 'lerning_rate'; did you mean 'learning_rate'?")
    try expectFailure(
      ["pretrain", recipe, "-o", scratch("p")], status: 65,
      message: "\(recipe):1: unknown key 'epochs'; allowed keys are \(Self.pretrainingKeys)")
    let short = try scratch.write("", to: "short.txt")
    try expectFailure(
      ["perplexity", work.model, "--data", short], status: 65,
      message: "'\(short)' has 0 tokens; at least 2 are needed (1 empty file, left out)")
    try expectFailure(
      ["train", work.model, "--data", work.data, "-o", scratch("a"), "--max-tokens", "8"], status: 65,
      message:
        "'food/0.txt': prompt and answer need 67 tokens even without the text, but the limit is 8: raise --max-tokens or shorten the label")
    try expectFailure(["generate", work.model, "--raw", "--prompt", ""], status: 65, message: "the prompt has no tokens")
    #expect(scratch.names == ["one", "recipe.yaml", "short.txt", "source"])
  }

  @Test func outputsThatCannotBeCreated() throws {
    let work = try Workplace()
    let taken = try work.scratch.directory("taken")
    let source = work.scratch("source")
    let lost = work.scratch("no/such")
    try expectFailure(
      ["convert", source, "-o", taken], status: 73,
      message: "'\(taken)': the output exists already; choose another name or pass --overwrite")
    try expectFailure(
      ["convert", source, "-o", lost], status: 73,
      message: "'\(lost)': its directory '\(work.scratch("no"))' does not exist; create it first")
    try expectFailure(
      ["train", work.model, "--data", work.data, "-o", taken], status: 73,
      message: "'\(taken)': the output exists already; choose another name or pass --overwrite")
    let file = try work.scratch.write("mine", to: "file.txt")
    try expectFailure(
      ["convert", source, "-o", file + "/model"], status: 73,
      message: "'\(file)/model': '\(file)' is a regular file, not a directory; choose another place")
    let bare = try dibit("convert", "source", "-o", "taken", in: work.scratch.path)
    #expect(bare.errors == "error: 'taken': the output exists already; choose another name or pass --overwrite\n")
    try work.scratch.remove("file.txt")
    try work.scratch.write("mine", to: "taken/letter.txt")
    try expectFailure(
      ["convert", source, "-o", taken, "--overwrite"], status: 73,
      message: "'\(taken)': will not be overwritten, because it is a directory without manifest.json, "
        + "so it may not be an output of dibit; remove it by hand or choose another name")
    #expect(try text(taken + "/letter.txt") == "mine")
    #expect(work.scratch.names == ["data", "model", "source", "taken"])
  }

  @Test func adapterOfAnotherBase() throws {
    let work = try Workplace(adapter: true)
    try #require(try dibit("convert", work.scratch("source"), "--bits", "4", "-o", work.scratch("other")).status == 0)
    let digests = try ["model", "other"].map { name in
      try dibit("inspect", work.scratch(name), "--json").json()["digest"]?.string ?? ""
    }
    try expectFailure(
      ["predict", work.scratch("other"), "--adapter", work.adapter, work.data + "/food/0.txt"], status: 65,
      message:
        "adapter '\(work.adapter)' was trained on the base model \(digests[0].prefix(12)), not on this one (\(digests[1].prefix(12))): "
        + "use that model, or train again")
  }

  @Test func labelsThatTheAdapterDoesNotKnow() throws {
    let work = try Workplace(adapter: true)
    try work.scratch.write("tell me", to: "data/gossip/1.txt")
    try expectFailure(
      ["evaluate", work.model, "--data", work.data, "--adapter", work.adapter], status: 65,
      message: "the data has labels that the adapter was not trained on: gossip (it knows 4)")
  }
}

/// What is given for a model or an adapter and is something else is called what it is.
@Suite struct WrongKindTests {
  @Test func adapters() throws {
    let work = try Workplace(adapter: true)
    let note = work.data + "/food/0.txt"
    func message(_ path: String, _ found: String) -> String {
      "'\(path)' is no adapter: the output of 'dibit train' expected, \(found) found"
    }
    let png = try work.scratch.write([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], to: "a.png")
    let others = [
      (work.data, "a folder with 'food', 'money', 'space' and more"), (work.model, "a model"), (note, "a text"), (png, "a PNG picture"),
      (try work.scratch.directory("nothing"), "an empty folder"),
    ]
    for (path, found) in others {
      try expectFailure(["predict", work.model, "--adapter", path, note], status: 65, message: message(path, found))
    }
    for command in [["evaluate", work.model, "--data", work.data], ["generate", work.model, "--prompt", "p"]] {
      try expectFailure(
        command + ["--adapter", work.data], status: 65, message: message(work.data, "a folder with 'food', 'money', 'space' and more"))
    }
    // An adapter of another tool is not expected here either.
    try expectFailure(
      ["convert", work.model, "--base", work.model, "-o", work.scratch("o")], status: 65, message: message(work.model, "a model"))
  }

  @Test("an adapter is no model, in every command that takes one")
  func models() throws {
    let work = try Workplace(adapter: true)
    let data = work.scratch("data")
    let message = "'\(work.adapter)' is an adapter, a model expected: name the model that it belongs to"
    for arguments in [
      ["train", work.adapter, "--data", data, "-o", work.scratch("o")], ["evaluate", work.adapter, "--data", data],
      ["generate", work.adapter, "--prompt", "p"], ["perplexity", work.adapter, "--data", data],
      ["export", work.adapter, "--format", "gguf", "-o", work.scratch("o")], ["convert", work.adapter, "-o", work.scratch("o")],
      ["bench", work.adapter],
    ] { try expectFailure(arguments, status: 65, message: message) }
  }

  @Test("a file that holds no tensors is called what it is")
  func files() throws {
    let scratch = Scratch()
    func message(_ path: String, _ found: String) -> String {
      "'\(path)': a file with tensors expected (safetensors, GGUF, HDF5, PyTorch or llama2.c), \(found) found"
    }
    let kinds: [(bytes: [UInt8], name: String)] = [
      (Array("root:x:0:0:root:/root:/bin/sh\n".utf8), "a text"), (Array("%PDF-1.7".utf8) + [0xE2, 0xE3], "a PDF document"),
      ([0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0, 0, 0], "a program (ELF)"), ([0x1F, 0x8B, 8, 0, 0], "a gzip archive (unpack it first)"),
      ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0], "a PNG picture"),
    ]
    for (index, kind) in kinds.enumerated() {
      let path = try scratch.write(kind.bytes, to: "file\(index)")
      try expectFailure(["inspect", path], status: 65, message: message(path, kind.name))
      try expectFailure(["convert", path, "-o", scratch("o")], status: 65, message: message(path, kind.name))
    }
    let random = try scratch.write([UInt8](repeating: 0xA7, count: 64), to: "random")
    let outcome = try dibit("inspect", random)
    #expect(
      outcome.status == 65 && outcome.errors.hasPrefix("error: '\(random)': no file with tensors of a known kind (safetensors, GGUF, HDF5,")
    )
  }
}
