import DibitJSON
import DibitTestSupport
import Foundation
import Glibc
import Testing

/// Models and adapters that are named in other ways than by their directory.
@Suite struct StoreCommandTests {
  private let scratch = Scratch()

  /// A GGUF file with a chat template in a folder of its own.
  private func ggufFolder() throws -> (folder: String, file: String) {
    let source = try TinyCheckpoint.llama().write(to: scratch)
    let settings: JSONValue = [
      "bos_token": "<|endoftext|>", "eos_token": "<turn_end>",
      "chat_template": "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}",
    ]
    try scratch.write(settings.serialized(), to: "source/tokenizer_config.json")
    try #require(try dibit("convert", source, "--bits", "4", "--no-check", "--output", scratch("model")).status == 0)
    let folder = try scratch.directory("folder")
    try #require(try dibit("export", scratch("model"), "--format", "gguf", "--output", folder + "/m.gguf").status == 0)
    return (folder, folder + "/m.gguf")
  }

  @Test("a folder with a GGUF file is that file: weights, tokenizer, chat template")
  func folderOfAFile() throws {
    let (folder, file) = try ggufFolder()
    let prompt = ["--prompt", "the goal", "--max-tokens", "8", "--json"]
    let (ofFolder, ofFile) = (try dibit(["generate", folder] + prompt).json(), try dibit(["generate", file] + prompt).json())
    #expect(ofFolder["prompt_tokens"] == ofFile["prompt_tokens"] && ofFolder["tokens"] == ofFile["tokens"])
    #expect(try dibit("chat", folder, "--max-tokens", "2", input: "hello\n").status == 0)
    try #require(try dibit("convert", folder, "--bits", "16", "--no-check", "--output", scratch("floats")).status == 0)
    let kept = try JSONValue(parsing: contents(scratch("floats/tokenizer_config.json")))
    #expect(kept["eos_token"] == "<turn_end>" && kept["chat_template"]?.string?.hasPrefix("{% for m in messages %}") == true)
    // What lies beside the file comes first.
    try scratch.write(#"{"chat_template": "{{ messages[0]['content'] }}"}"#, to: "folder/tokenizer_config.json")
    try #require(try dibit("convert", folder, "--bits", "16", "--no-check", "--output", scratch("other")).status == 0)
    let other = try JSONValue(parsing: contents(scratch("other/tokenizer_config.json")))
    #expect(other["eos_token"] == "<turn_end>" && other["chat_template"] == "{{ messages[0]['content'] }}")
  }

  @Test("verify names the files that are there, and calls whole only what a digest covers")
  func verify() throws {
    let (folder, file) = try ggufFolder()
    for path in [folder, file] {
      let outcome = try dibit("verify", path)
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(
        outcome.output.hasSuffix(
          "\nno fault found; the checkpoint comes without a digest, so that a changed byte may go unnoticed\n"))
      let json = try dibit("verify", path, "--json").json()
      #expect(json["whole"] == .null)
      #expect(json["checks"]?.array?.compactMap { $0["file"]?.string } == ["m.gguf", "m.gguf", "m.gguf", "m.gguf"])
    }
    // Without its manifest, a converted model is no model.
    let manifest = scratch("model/manifest.json")
    try scratch.remove("model/manifest.json")
    let outcome = try dibit("verify", scratch("model"))
    #expect(outcome.status == 66)
    #expect(outcome.errors == "error: '\(manifest)': no such file or directory\n")
    try scratch.write(#"{"format": "theirs"}"#, to: "model/manifest.json")
    let other = try dibit("verify", scratch("model"))
    #expect(other.status == 65)
    #expect(other.errors == "error: '\(manifest)': 'format': expected 'dibit-model', found \"theirs\"\n")
  }

  @Test("the weights file of a model is the model; that of an adapter is told to be a part of it")
  func parts() throws {
    let work = try Workplace(adapter: true)
    let (weights, part) = (work.model + "/model.safetensors", work.adapter + "/adapter_model.safetensors")
    let prompt = ["--prompt", "the goal", "--max-tokens", "4", "--json"]
    let answers = try [weights, work.model].map { try dibit(["generate", $0] + prompt).json()["tokens"] }
    #expect(answers[0] == answers[1] && answers[0] != nil)
    let note = work.data + "/food/0.txt"
    #expect(try dibit("predict", weights, "--adapter", work.adapter, note).status == 0)
    let message = "'\(part)' is a part of the adapter '\(work.adapter)': name that directory"
    try expectFailure(["predict", work.model, "--adapter", part, note], status: 65, message: message)
    try expectFailure(["convert", part, "--base", work.model, "-o", work.scratch("o")], status: 65, message: message)
    try expectFailure(
      ["generate", part, "--prompt", "p"], status: 65,
      message: "'\(work.adapter)' is an adapter, a model expected: name the model that it belongs to")
    try expectFailure(
      ["convert", note, "--base", work.model, "-o", work.scratch("o")], status: 65,
      message: "'\(note)' is no adapter: the output of 'dibit train' expected, a text found")
  }

  @Test(.enabled(if: getuid() != 0, "root can read everything")) func directoriesWithoutPermission() throws {
    let work = try Workplace(adapter: true)
    let note = work.data + "/food/0.txt"
    for (path, command) in [
      (work.adapter, ["predict", work.model, "--adapter", work.adapter, note]), (work.model, ["generate", work.model, "--prompt", "p"]),
    ] {
      try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
      defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path) }
      try expectFailure(command, status: 66, message: "'\(path)': cannot be read: Permission denied")
    }
  }

  @Test("--overwrite replaces an output of the same kind that nobody put anything into")
  func replacedOutputs() throws {
    let work = try Workplace(adapter: true)
    let source = try TinyCheckpoint.llama().write(to: work.scratch, "llama")
    func refusal(_ path: String, _ found: String) -> String {
      "'\(path)': will not be overwritten, because it is \(found); remove it by hand or choose another name"
    }
    let train = ["train", work.model, "--data", work.data, "--epochs", "1", "--rank", "2", "--overwrite", "-o"]
    try #require(try dibit("convert", source, "--no-check", "-o", work.scratch("other")).status == 0)
    let before = try [work.scratch("other"), work.adapter].map { try files(below: $0) }
    try expectFailure(
      train + [work.scratch("other")], status: 73,
      message: refusal(work.scratch("other"), "another kind of output, 'dibit-model' and not 'dibit-adapter'"))
    try expectFailure(
      ["convert", source, "--overwrite", "-o", work.adapter], status: 73,
      message: refusal(work.adapter, "another kind of output, 'dibit-adapter' and not 'dibit-model'"))
    #expect(try [work.scratch("other"), work.adapter].map { try files(below: $0) } == before)
    try work.scratch.write("mine", to: "adapter/notes.txt")
    let strange = refusal(work.adapter, "a directory in which something else, 'notes.txt', was put")
    try expectFailure(train + [work.adapter], status: 73, message: strange)
    #expect(try text(work.adapter + "/notes.txt") == "mine")
    try work.scratch.remove("adapter/notes.txt")
    // All that a training leaves there is Dibit's, whichever command comes next.
    #expect(try dibit(train + [work.adapter]).status == 0)
    try #require(try dibit("convert", work.adapter, "--base", work.model, "--overwrite", "-o", work.scratch("copy")).status == 0)
    #expect(try dibit("convert", work.scratch("copy"), "--base", work.model, "--overwrite", "-o", work.adapter).status == 0)
    #expect(try dibit("convert", source, "--no-check", "--overwrite", "-o", work.scratch("other")).status == 0)
  }

  @Test("a tokenizer that may be another model's is doubted, and the size of a source is that of its files")
  func conversions() throws {
    let (folder, file) = try ggufFolder()
    let bytes = try contents(file).count
    let report = try dibit("convert", file, "--bits", "4", "--no-check", "--json", "-o", scratch("a"))
    #expect(try report.json()["source_file_bytes"]?.int == bytes && !report.errors.contains("warning: "))
    #expect(try report.json()["source_bytes"]?.int ?? 0 > bytes)
    let shown = try dibit("convert", folder, "--bits", "4", "--no-check", "-o", scratch("b"))
    #expect(shown.output.contains(" as floats) -> "), "\(shown.output)")
    // The same tokenizer, but for one special token.
    let other = try scratch.write(try text(scratch("source/tokenizer.json")).replacing("<turn_end>", with: "<turn_stop>"), to: "t.json")
    let doubted = try dibit("convert", scratch("source"), "--tokenizer", other, "--no-check", "--dry-run", "-o", scratch("c"))
    #expect(
      doubted.errors == "warning: the tokenizer '\(other)' may be that of another model: it has not all special tokens of the "
        + "checkpoint's own under their ids: '<turn_end>'\n")
  }

  @Test("an adapter that tags answers in its own form, which --stop would cut")
  func stops() throws {
    let work = try Workplace(adapter: true)
    let call = ["generate", work.model, "--adapter", work.adapter, "--prompt", "soup", "--stop", "]"]
    try expectFailure(
      call, status: 64, message: "--stop: the adapter tags texts and ends its answer itself; leave it out, or pass --raw")
    #expect(try dibit(call + ["--raw", "--max-tokens", "4"]).status == 0)
  }
}
