import Dibit
import DibitJSON
import DibitKernels
import DibitTestSupport
import DibitTokenizer
import Testing

/// `convert --calibrate`, as a user types it.
@Suite struct CalibrateCommandTests {
  private let scratch = Scratch()

  @Test("the source writes the text where none is given; the model is nearer to it, and the same on any number of threads")
  func own() throws {
    let source = try TinyCheckpoint.llama(context: 32).write(to: scratch)
    func divergence(_ name: String, _ arguments: String...) throws -> Double {
      let outcome = try dibit(["convert", source, "-o", scratch(name), "--json"] + arguments)
      #expect(outcome.status == 0, "\(outcome.errors)")
      return try #require(try outcome.json()["check"]?["kl_divergence"]?.double)
    }
    let nearest = try divergence("nearest")
    let rounded = try divergence("rounded", "--calibrate", "--effort", "quick")
    let calibrated = try divergence("calibrated", "--calibrate", "--threads", "1")
    #expect(rounded < 0.8 * nearest && calibrated < 0.98 * rounded, "\(calibrated), rounded \(rounded), nearest \(nearest)")
    // Scales and norms are what differs.
    #expect(try training("rounded") == nil && training("calibrated")?["method"] == "scales" && training("calibrated")?["steps"] == 100)
    let thorough = try dibit("convert", source, "-o", scratch("thorough"), "--calibrate", "--effort", "thorough", "--json")
    #expect(try training("thorough")?["steps"] == 400)
    let layers = try #require(try thorough.json()["layers"]?.array)
    #expect(layers.compactMap { $0["layer"]?.int } == [0, 1])
    #expect(
      layers.allSatisfy { ($0["error_trained"]?.double ?? .infinity) <= ($0["error_rounded"]?.double ?? 0) }, "\(layers)")
    #expect(try thorough.json()["snr_db"] == .null && dibit("verify", scratch("thorough")).status == 0)
    let again = try dibit("convert", source, "-o", scratch("again"), "--calibrate", "--threads", "3")
    #expect(again.status == 0)
    for stage in ["writing text: ", "calibrating: 100 %", "training scales: 100 %", "converting: 100 %"] {
      #expect(again.errors.contains(stage))
    }
    #expect(try contents(scratch("again") + "/model.safetensors") == contents(scratch("calibrated") + "/model.safetensors"))
  }

  private func training(_ name: String) throws -> JSONValue? {
    try JSONValue(parsing: contents(scratch(name) + "/manifest.json"))["source"]?["training"]
  }

  @Test("scales are trained below four bits alone, or eight on a user's text, and where rounding lost something")
  func whatIsTrained() throws {
    let source = try TinyCheckpoint.llama(context: 32).write(to: scratch)
    func training(_ source: String, _ name: String, _ options: String...) throws -> JSONValue? {
      let outcome = try dibit(["convert", source, "-o", scratch(name), "--calibrate", "--group-size", "32", "--no-check"] + options)
      try #require(outcome.status == 0, "\(outcome.errors)")
      #expect(outcome.errors.contains("training scales") == (try self.training(name) != nil))
      return try self.training(name)
    }
    #expect(try training(source, "four", "--bits", "4") == nil)
    try scratch.write(String(repeating: TinyCheckpoint.sentences.joined(separator: ". ") + "\n", count: 40), to: "text.txt")
    let given = ["--calibration-text", scratch("text.txt")]
    #expect(try training(source, "four-given", "--bits", "4", given[0], given[1]) != nil)
    #expect(try training(source, "eight", "--bits", "8", given[0], given[1]) == nil)
    #expect(try training(source, "two") != nil && training(source, "thorough", "--effort", "thorough") != nil)
    // A mean of bits: the least of them count.
    #expect(try training(source, "mean", "--bits", "5") != nil)
    try #require(try dibit("export", scratch("two"), "--format", "safetensors", "-o", scratch("two.safetensors")).status == 0)
    #expect(try training(scratch("two.safetensors"), "exact") == nil)
    #expect(try training(source, "quick", "--effort", "quick") == nil)
  }

  @Test("a text that the model predicts far worse than what it writes is told, and none that it predicts as well")
  func foreignText() throws {
    let text = try CalibrationText(for: TinyCheckpoint.llama(context: 32).write(to: scratch), tokenizer: nil, windows: 32)
    func windows(_ content: String) throws -> [[Int32]] { try text.read([scratch.write(content, to: "text.txt")]) }
    let known = try windows(String(repeating: TinyCheckpoint.sentences.joined(separator: ". ") + "\n", count: 40))
    // The tokenizer has no piece of it, so that each byte is a token.
    let foreign = try windows(String(repeating: "春天来了，公园里的花都开了。", count: 100))
    func finding(_ given: [[Int32]], _ own: [[Int32]]) throws -> String? {
      try text.finding(about: given, beside: own, on: Compute(threads: 2))
    }
    #expect(try finding(foreign, known)?.hasPrefix("the model predicts the calibration text at ") == true)
    #expect(try finding(known, foreign) == nil && finding(foreign, foreign) == nil)
    #expect(try finding([], known) == nil && finding(foreign, []) == nil)
  }

  @Test("half of the scales become bits where they matter, but not in what lies on the grid or where groups are asked for")
  func spreads() throws {
    let source = try TinyCheckpoint.llama(context: 32, hidden: 256, wide: 512).write(to: scratch)
    func scheme(_ source: String, _ name: String, _ options: String...) throws -> JSONValue? {
      let outcome = try dibit(["convert", source, "-o", scratch(name), "--calibrate", "--no-check"] + options)
      try #require(outcome.status == 0, "\(outcome.errors)")
      return try JSONValue(parsing: contents(scratch(name) + "/config.json"))["quantization"]
    }
    func bytes(_ name: String) throws -> Int { try contents(scratch(name) + "/model.safetensors").count }
    let (spread, plain) = (try scheme(source, "spread"), try scheme(source, "plain", "--group-size", "64"))
    #expect(spread?["group_size"] == 128 && plain?["group_size"] == 64 && plain?["tensor_bits"] == nil)
    #expect(spread?["tensor_bits"]?.object?.members.isEmpty == false && spread?["bits"] == 2)
    let (more, least) = (try bytes("plain"), try bytes("spread"))
    #expect(least <= more && least > more - more / 20, "\(least), \(more)")
    #expect(try scheme(source, "quick", "--effort", "quick")?["group_size"] == 64)
    #expect(try scheme(source, "four", "--bits", "4")?["group_size"] == 64)
    #expect(try scheme(source, "named", "--levels", "symmetric")?["group_size"] == 128)
    try #require(try dibit("export", scratch("plain"), "--format", "safetensors", "-o", scratch("floats")).status == 0)
    #expect(try scheme(scratch("floats"), "exact") == plain)
  }

  @Test("killed or stopped, it goes on behind the layers that are done, to the same bytes")
  func resumes() throws {
    let source = try TinyCheckpoint.llama(context: 32).write(to: scratch)
    func command(_ name: String, _ options: String...) -> [String] {
      ["convert", source, "-o", scratch(name), "--calibrate", "--effort", "thorough", "--no-check"] + options
    }
    // Where nothing is kept, one begins.
    try #require(try dibit(command("whole", "--resume")).status == 0)
    let expected = try contents(scratch("whole") + "/model.safetensors")
    let kept = scratch("killed") + ".checkpoints"
    let process = try DibitProcess(command("killed"))
    try process.wait { exists(kept + "/layer-0.safetensors") }
    process.kill()
    try #require(process.waitForSignal() == 9)
    let again = try dibit(command("killed"))
    #expect(again.status == 73 && again.errorLines.count == 1, "\(again.errors)")
    #expect(again.errors.contains("'\(kept)' holds a conversion that was stopped after 1 layer: pass --resume to go on, or --overwrite"))
    let other = try dibit(command("killed", "--resume", "--group-size", "32"))
    #expect(other.status == 65 && other.errorLines.count == 1, "\(other.errors)")
    #expect(other.errors.contains("'\(kept)' holds a conversion of another source, in another way, on another text or by another version"))
    let resumed = try dibit(command("killed", "--resume", "--threads", "1"))
    #expect(resumed.status == 0 && !resumed.errors.contains("writing text") && !resumed.errors.contains("measuring"), "\(resumed.errors)")
    #expect(try contents(scratch("killed") + "/model.safetensors") == expected)
    #expect(!exists(kept))
    let stopped = try DibitProcess(command("stopped"))
    try stopped.wait { exists(scratch("stopped") + ".checkpoints/layer-0.safetensors") }
    stopped.interrupt()
    let outcome = try stopped.finish()
    #expect(outcome.status == 130, "\(outcome.errors)")
    #expect(
      outcome.errors.contains("interrupted: the text and 1 layer are kept in '\(scratch("stopped")).checkpoints': pass --resume to go on"))
    #expect(try dibit(command("stopped", "--overwrite")).status == 0)
    #expect(try contents(scratch("stopped") + "/model.safetensors") == expected)
  }

  @Test("levels are those that are asked for, or else those that the source lies on, or else those that lose least")
  func levels() throws {
    let source = try TinyCheckpoint.llama(context: 32).write(to: scratch)
    func convert(_ source: String, _ name: String, _ options: String...) throws -> JSONValue {
      let outcome = try dibit(["convert", source, "-o", scratch(name), "--no-check", "--json"] + options)
      try #require(outcome.status == 0, "\(outcome.errors)")
      return try outcome.json()
    }
    func isFullRange(_ name: String) throws -> Bool {
      try dibit("inspect", scratch(name), "--json").json()["quantization"]?["full_range"]?.bool ?? false
    }
    func isTrellis(_ name: String) throws -> Bool {
      try dibit("inspect", scratch(name), "--json").json()["quantization"]?["trellis"]?.bool ?? false
    }
    func isExact(_ report: JSONValue) -> Bool {
      let tensors = (report["tensors"]?.array ?? []).filter { $0["storage"]?.string?.contains("groups") == true }
      return tensors.count > 10 && tensors.allSatisfy { $0["exact"]?.bool == true }
    }
    _ = try convert(source, "trellis", "--calibrate", "--group-size", "32")
    _ = try convert(source, "full", "--calibrate", "--levels", "full-range", "--group-size", "32")
    #expect(try isTrellis("trellis") && isFullRange("trellis") && isFullRange("full") && !isTrellis("full"))
    _ = try convert(source, "asked", "--calibrate", "--levels", "symmetric")
    _ = try convert(source, "nearest", "--group-size", "32")
    _ = try convert(source, "nearest-full", "--levels", "full-range")
    #expect(try !isFullRange("asked") && !isFullRange("nearest") && isFullRange("nearest-full"))
    _ = try convert(source, "nearest-trellis", "--levels", "trellis", "--group-size", "32")
    _ = try convert(source, "four", "--levels", "trellis", "--bits", "4", "--group-size", "32")
    _ = try convert(source, "calibrated-four", "--calibrate", "--bits", "4", "--group-size", "32")
    #expect(try isTrellis("nearest-trellis"))
    for name in ["four", "calibrated-four"] { #expect(try isFullRange(name) && !isTrellis(name), "\(name)") }
    // What lies on any of the grids is packed as it is.
    for (name, options) in [
      ("nearest", ["--calibrate"]), ("nearest", []), ("full", ["--calibrate"]), ("full", []), ("trellis", ["--calibrate"]), ("trellis", []),
      ("nearest-trellis", []),
    ] {
      for format in ["safetensors", "gguf"] {
        let floats = scratch("\(name).\(format)")
        try #require(try dibit("export", scratch(name), "--format", format, "-o", floats, "--overwrite").status == 0)
        let again = try dibit(
          ["convert", floats, "-o", scratch("\(name)-\(format)"), "--overwrite", "--group-size", "32", "--no-check", "--json"] + options)
        try #require(again.status == 0, "\(again.errors)")
        #expect(
          try isExact(again.json()) && isFullRange("\(name)-\(format)") == (name != "nearest")
            && isTrellis("\(name)-\(format)") == name.contains("trellis"), "\(name), \(format)")
      }
    }
    let both = try dibit("convert", source, "-o", scratch("both"), "--like", scratch("asked"), "--levels", "symmetric")
    #expect(both.status == 64 && both.errors.contains("--levels: goes without --like"))
    let floats = try dibit("convert", source, "-o", scratch("both"), "--levels", "full-range", "--bits", "16")
    #expect(floats.status == 64 && floats.errors.contains("--levels: expected weights of 2 or 4 bits"), "\(floats.errors)")
    let again = try dibit("convert", scratch("asked"), "-o", scratch("both"))
    #expect(again.status == 65 && again.errors.contains("is a converted model already"), "\(again.errors)")
    let unknown = try dibit("convert", source, "-o", scratch("both"), "--levels", "ternary")
    #expect(unknown.status == 64 && unknown.errors.contains("symmetric") && unknown.errors.contains("full-range"), "\(unknown.errors)")
  }

  @Test("text of a user's own, from several places")
  func given() throws {
    let source = try TinyCheckpoint.llama(context: 32).write(to: scratch)
    let sentences = TinyCheckpoint.sentences.joined(separator: ". ")
    for name in ["a.txt", "folder/b.txt"] { try scratch.write(String(repeating: sentences + "\n", count: 40), to: name) }
    let outcome = try dibit(
      "convert", source, "-o", scratch("model"), "--calibrate", "--calibration-text", scratch("a.txt"), "--calibration-text",
      scratch("folder"))
    #expect(outcome.status == 0, "\(outcome.errors)")
    // What the source says in chats is in few texts: it writes a quarter.
    #expect(outcome.errors.contains("writing text") && outcome.errors.contains("calibrating: 100 %"))
    #expect(outcome.errors.contains("training scales: 100 %"))
    #expect(try dibit("verify", scratch("model")).status == 0)
  }

  @Test("a mean of bits and a size are spent where they bring most; the model is used as any other", arguments: [true, false])
  func mixed(calibrates: Bool) throws {
    let source = try TinyCheckpoint.llama(context: 32).write(to: scratch)
    let calibrate = calibrates ? ["--calibrate"] : []
    let mean = try dibit(["convert", source, "-o", scratch("mean"), "--bits", "5", "--group-size", "32"] + calibrate)
    #expect(mean.status == 0, "\(mean.errors)")
    #expect(mean.errors.contains("measuring: 100 %") && mean.output.contains("Matrices by what the rounding of each alone costs"))
    let text = try #require(mean.output.firstRange(of: " bits per weight over all").map { mean.output[..<$0.lowerBound].suffix(4) })
    let bits = try #require(Double(text), "\(mean.output)")
    #expect(bits > 4.5 && bits <= 5)
    let size = try dibit(
      ["convert", source, "-o", scratch("size"), "--size", "60k", "--group-size", "32", "--threads", "1", "--json"] + calibrate)
    let report = try size.json()
    #expect(try contents(scratch("size") + "/model.safetensors").count == report["output_bytes"]?.int)
    #expect(try #require(report["output_bytes"]?.int) <= 60_000)
    let choices = try #require(report["choices"]?.array)
    #expect(choices.allSatisfy { ($0["least_bits"]?.int == 4) == ($0["name"]?.string?.contains("layers") == false) })
    #expect(choices.count == 16 && Set(choices.compactMap { $0["bits"]?.int }).count > 1)
    // The same on other threads; and what a dry run says is what is made.
    let again = try dibit(["convert", source, "-o", scratch("again"), "--size", "60k", "--group-size", "32", "--threads", "3"] + calibrate)
    #expect(again.status == 0)
    #expect(try contents(scratch("again") + "/model.safetensors") == contents(scratch("size") + "/model.safetensors"))
    let forecast = try dibit(
      ["convert", source, "-o", scratch("forecast"), "--size", "60k", "--group-size", "32", "--dry-run", "--json"] + calibrate)
    #expect(try forecast.json()["choices"] == report["choices"])
    #expect(!scratch.names.contains("forecast"))
    #expect(try dibit("verify", scratch("size")).status == 0)
    // What training on the grid makes of it has the same bits in the same places.
    try scratch.write(String(repeating: TinyCheckpoint.sentences.joined(separator: ". ") + "\n", count: 100), to: "text.txt")
    let trained = try dibit(
      "qat", source, "--from", scratch("size"), "--data", scratch("text.txt"), "-o", scratch("trained"), "--steps", "5", "--set",
      "batch_size=2", "--set", "max_seq_length=16")
    #expect(trained.status == 0, "\(trained.errors)")
    func storage(_ name: String) throws -> JSONValue? { try dibit("inspect", scratch(name), "--json").json()["quantization"] }
    #expect(try storage("trained") == storage("size") && storage("size")?["tensor_bits"] != nil)
    // Its floats are packed as they are where each matrix gets the bits that it had.
    #expect(try dibit("export", scratch("trained"), "--format", "safetensors", "-o", scratch("floats")).status == 0)
    let packed = try dibit("convert", scratch("floats"), "-o", scratch("packed"), "--like", scratch("size"), "--json")
    #expect(packed.status == 0, "\(packed.errors)")
    let tensors = try #require(try packed.json()["tensors"]?.array).filter { $0["storage"]?.string?.contains("groups") == true }
    #expect(tensors.count == 16 && tensors.allSatisfy { $0["exact"]?.bool == true })
    #expect(try storage("packed") == storage("size"))
  }

  @Test("bits and sizes that cannot be had are told, and nothing is written")
  func unreachable() throws {
    let source = try TinyCheckpoint.llama(context: 32).write(to: scratch)
    func fails(_ arguments: [String], _ status: Int32, _ message: String) throws {
      let outcome = try dibit(["convert", source, "-o", scratch("model")] + arguments)
      #expect(outcome.status == status && outcome.errors.contains(message), "\(outcome.errors)")
      #expect(!scratch.names.contains("model"))
    }
    try fails(["--bits", "2.1"], 65, "--bits: 2.1 bits per weight over all are asked for, but with as few everywhere as may be there are")
    try fails(
      ["--size", "1k", "--calibrate"], 65, "--size: 1,000 bytes are asked for, but with as few bits everywhere as may be the weights take")
    try fails(["--size", "lots"], 64, "--size: expected a size like 800M or 2G, found 'lots'")
    try fails(["--bits", "1"], 64, "--bits: expected 2, 4, 8, 16 or 32, or a mean between 2 and 8, found 1")
    try fails(["--bits", "nan"], 64, "--bits: expected 2, 4, 8, 16 or 32")
    try fails(["--bits", "3", "--size", "1M"], 64, "--size: with a mean of --bits the size is given already")
    try fails(["--like", source], 65, "'\(source)': expected a converted model, found a checkpoint")
    try fails(["--like", scratch("nowhere")], 66, "'\(scratch("nowhere"))'")
    try fails(["--like", source, "--bits", "4"], 64, "--bits: goes without --like, which says all bits and groups")
    try fails(["--bits", "16", "--size", "1M"], 64, "--size: expected weights of 2, 4 or 8 bits to choose more for, found 16 bits")
  }

  @Test("text that does not do is told, and nothing is written")
  func failures() throws {
    let source = try TinyCheckpoint.llama(context: 32).write(to: scratch)
    try scratch.write("a few words", to: "short.txt")
    try scratch.write("", to: "empty.txt")
    func fails(_ arguments: [String], _ status: Int32, _ message: String) throws {
      let outcome = try dibit(["convert", source, "-o", scratch("model")] + arguments)
      #expect(outcome.status == status && outcome.errors.contains(message), "\(outcome.errors)")
      #expect(!scratch.names.contains("model"))
    }
    try fails(["--calibrate", "--calibration-text", scratch("short.txt")], 65, "tokens to calibrate on; at least 1000 are needed")
    // Conversations are read in turns: nothing of the file's JSON counts.
    let chats = try writeConversations([("the goal", "was late"), ("a comet", "came near")], to: scratch)
    let tokenizer = try TinyCheckpoint.makeTokenizer()
    let template = ChatTemplate(tokenizer)
    let count = [("the goal", "was late"), ("a comet", "came near")].reduce(0) { sum, pair in
      sum + template.prompt(system: nil, user: pair.0, tokenizer: tokenizer).tokens.count
        + template.answer(pair.1, tokenizer: tokenizer).count
    }
    // The first of each window of 32 is not predicted.
    try fails(["--calibrate", "--calibration-text", chats], 65, "'\(chats)': \(count - (count + 31) / 32) tokens to calibrate on")
    let labelled = try scratch.write("{\"text\":\"a\",\"label\":\"b\"}\n{\"text\":\"c\",\"label\":\"d\"}\n", to: "labelled.jsonl")
    try fails(["--calibrate", "--calibration-text", labelled], 65, "'\(labelled)': 0 tokens to calibrate on")
    try fails(["--calibrate", "--calibration-text", scratch("empty.txt")], 65, "'\(scratch("empty.txt"))'")
    try fails(["--calibrate", "--calibration-text", scratch("nowhere")], 66, "'\(scratch("nowhere"))'")
    try fails(["--effort", "thorough"], 64, "--effort: goes with --calibrate")
    try fails(["--calibrate", "--effort", "great"], 64, "--effort: expected quick, standard or thorough, found 'great'")
    try fails(["--calibration-text", scratch("short.txt")], 64, "--calibration-text: goes with --calibrate")
  }
}
