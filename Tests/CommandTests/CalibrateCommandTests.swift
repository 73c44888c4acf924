import DibitJSON
import DibitTestSupport
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
    let calibrated = try divergence("calibrated", "--calibrate", "--threads", "1")
    #expect(calibrated < 0.8 * nearest, "\(calibrated), nearest \(nearest)")
    let again = try dibit("convert", source, "-o", scratch("again"), "--calibrate", "--threads", "3")
    #expect(again.status == 0)
    for stage in ["writing text: ", "calibrating: 100 %", "converting: 100 %"] { #expect(again.errors.contains(stage)) }
    #expect(try contents(scratch("again") + "/model.safetensors") == contents(scratch("calibrated") + "/model.safetensors"))
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
    #expect(!outcome.errors.contains("writing text") && outcome.errors.contains("calibrating: 100 %"))
    #expect(try dibit("verify", scratch("model")).status == 0)
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
    try fails(["--calibrate", "--calibration-text", scratch("empty.txt")], 65, "'\(scratch("empty.txt"))'")
    try fails(["--calibrate", "--calibration-text", scratch("nowhere")], 66, "'\(scratch("nowhere"))'")
    try fails(["--calibration-text", scratch("short.txt")], 64, "--calibration-text: goes with --calibrate")
  }
}
