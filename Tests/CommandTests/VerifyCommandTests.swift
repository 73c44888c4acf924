import DibitJSON
import DibitTestSupport
import Foundation
import Testing

@Suite struct VerifyCommandTests {
  private let fixture = String(#filePath.dropLast("CommandTests/VerifyCommandTests.swift".count)) + "Fixtures/parity/llama"

  @Test("a tolerance makes the difference a matter of the exit status")
  func tolerance() throws {
    let call = ["verify", fixture, "--reference", fixture + "/reference.safetensors", "--gradients"]
    #expect(try dibit(call).status == 0)
    #expect(try dibit(call + ["--tolerance", "1e-2"]).status == 0)
    let strict = try dibit(call + ["--tolerance", "0"])
    #expect(strict.status == 3)
    #expect(strict.output.hasPrefix("the model: logits differ by "))
    #expect(strict.errors.hasPrefix("error: the logits differ by ") && strict.errors.hasSuffix("more than --tolerance 0.0\n"))
    // A reference without gradients keeps no tolerance of them.
    let scratch = Scratch()
    let reference = try text(fixture + "/reference.safetensors", replacing: "grad.", with: "none.")
    let bare = try scratch.write(reference, to: "reference.safetensors")
    let without = try dibit("verify", fixture, "--reference", bare, "--gradients", "--tolerance", "1e-2")
    #expect(without.status == 65)
    #expect(
      without.errors == "error: '\(bare)' has no gradients, so that none can keep --tolerance; leave out --gradients\n",
      "\(without.errors)")
    try expectFailure(
      ["verify", fixture, "--reference", fixture, "--tolerance=-1"], status: 64,
      message: "--tolerance: expected a number from 0 on, found -1.0; see 'dibit verify --help'")
  }

  /// The bytes of a file with other names of the same length in it.
  private func text(_ path: String, replacing name: String, with other: String) throws -> [UInt8] {
    var bytes = try contents(path)
    let (old, new) = (Array(name.utf8), Array(other.utf8))
    for index in bytes.indices.dropLast(old.count) where bytes[index..<index + old.count].elementsEqual(old) {
      bytes.replaceSubrange(index..<index + old.count, with: new)
    }
    return bytes
  }
}

/// Files that were damaged after they were written.
@Suite struct DamageTests {
  private let work: Workplace

  init() throws { work = try Workplace(adapter: true) }

  /// Flips one bit of a file, `fromEnd` bytes before its end, and back again behind `body`.
  private func damaging(_ path: String, fromEnd: Int = 9, _ body: () throws -> Void) throws {
    let bytes = try contents(path)
    var damaged = bytes
    damaged[damaged.count - fromEnd] ^= 1
    try overwrite(path, damaged)
    try body()
    try overwrite(path, bytes)
  }

  private func overwrite(_ path: String, _ bytes: [UInt8]) throws {
    try #require(FileManager.default.createFile(atPath: path, contents: Data(bytes)))
  }

  @Test("a flipped bit in the weights ends every command that uses them, before it gives a result")
  func weights() throws {
    let weights = work.model + "/model.safetensors"
    let note = try work.scratch.write("soup and bread", to: "note.txt")
    let manifest = try JSONValue(parsing: contents(work.model + "/manifest.json"))
    let expected = try #require(manifest["weights_sha256"]?.string).prefix(12)
    let (model, out) = (work.model, work.scratch("out"))
    try damaging(weights) {
      for arguments in [
        ["generate", model, "--prompt", "a", "--max-tokens", "2"], ["perplexity", model, "--data", note],
        ["predict", model, "--adapter", work.adapter, note], ["predict", model, "--adapter", work.adapter, note, "-o", out],
        ["evaluate", model, "--data", work.data, "--baselines", "none", "--split", "train", "--report", out],
        ["train", model, "--data", work.data, "--epochs", "1", "-o", out],
        ["embed", model, note], ["embed", model, note, "-o", out],
        ["export", model, "--adapter", work.adapter, "--format", "peft", "-o", out],
        ["convert", work.adapter, "--base", model, "-o", out],
        ["export", model, "--format", "safetensors", "-o", out], ["verify", model],
      ] {
        let outcome = try dibit(arguments)
        #expect(outcome.status == 65, "\(arguments): \(outcome.errors)")
        #expect(outcome.errorLines.count == 1)
        let line = outcome.errorLines.first ?? ""
        #expect(line.contains("'\(weights)' was damaged or changed: SHA-256 \(expected) expected from the manifest, "), "\(line)")
        #expect(line.hasSuffix(" found; make it again, or restore it"))
        #expect(outcome.output == "" || arguments[0] == "verify")
        #expect(!exists(out))
      }
    }
  }

  @Test("verify alone looks at every file of a model")
  func verifyModel() throws {
    let whole = try dibit("verify", work.model)
    #expect(whole.status == 0, "\(whole.errors)")
    #expect(whole.output.hasSuffix("the model is whole\n") && whole.errors == "")
    let json = try dibit("verify", work.model, "--json").json()
    #expect(json["whole"]?.bool == true && json["kind"]?.string == "model")
    #expect(
      json["checks"]?.array?.compactMap { $0["check"]?.string } == [
        "format", "SHA-256", "SHA-256 of all that changes the output", "shapes of tensors", "finite numbers", "tokenizer", "chat template",
      ])
    // A file that the manifest names is looked at as the model that it belongs to.
    let weights = work.model + "/model.safetensors"
    #expect(try dibit("verify", weights).output == whole.output)
    try damaging(weights) {
      let outcome = try dibit("verify", weights)
      #expect(outcome.status == 65)
    }
    for file in ["tokenizer.json", "config.json"] {
      // The line end, so that the file is JSON still.
      try damaging(work.model + "/" + file, fromEnd: 1) {
        let outcome = try dibit("verify", work.model, "--json")
        #expect(outcome.status == 65, "\(file): \(outcome.errors)")
        #expect(try outcome.json()["whole"]?.bool == false)
      }
    }
    try expectFailure(
      ["verify", work.model, "--gradients"], status: 64,
      message: "--gradients: expected --reference beside it; see 'dibit verify --help'")
  }

  @Test("verify looks at adapters, and an adapter that was damaged is not used")
  func adapters() throws {
    #expect(try dibit("verify", work.adapter).output.hasSuffix("the adapter is whole\n"))
    let weights = work.adapter + "/adapter_model.safetensors"
    try damaging(weights) {
      #expect(try dibit("verify", work.adapter).status == 65)
      let outcome = try dibit("predict", work.model, "--adapter", work.adapter, work.data + "/food/0.txt")
      #expect(outcome.status == 65)
      #expect(outcome.errors.hasPrefix("error: '\(weights)' was damaged or changed: SHA-256 "))
      #expect(outcome.output == "")
    }
    try damaging(work.adapter + "/training_texts.json", fromEnd: 20) {
      let outcome = try dibit("verify", work.adapter)
      #expect(outcome.status == 65)
    }
  }

  @Test("numbers that are not finite, and checkpoints without a manifest")
  func checkpoints() throws {
    var tiny = try TinyCheckpoint.llama()
    let scratch = Scratch()
    let whole = try dibit("verify", try tiny.write(to: scratch))
    #expect(whole.status == 0, "\(whole.errors)")
    #expect(
      whole.output.hasSuffix("\nno fault found; the checkpoint comes without a digest, so that a changed byte may go unnoticed\n"))
    let other = Scratch()
    tiny["model.layers.1.mlp.up_proj.weight"].values[5] = .infinity
    let source = try tiny.write(to: other)
    let outcome = try dibit("verify", source)
    #expect(outcome.status == 65)
    #expect(
      outcome.errorLines
        == ["error: '\(source)': tensor 'model.layers.1.mlp.up_proj.weight': element 5 is not a finite number; the checkpoint is damaged"])
  }
}
