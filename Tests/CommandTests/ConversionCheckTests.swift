import Dibit
import DibitJSON
import DibitTestSupport
import Testing

/// A conversion says what it made of the model, and what it would make.
@Suite struct ConversionCheckTests {
  private let scratch = Scratch()

  @Test("the converted model is compared with what the source says", arguments: ["2", "8", "16"])
  func comparison(bits: String) throws {
    let source = try TinyCheckpoint.llama().write(to: scratch)
    let outcome = try dibit("convert", source, "-o", scratch("model"), "--bits", bits, "--json")
    #expect(outcome.status == 0, "\(outcome.errors)")
    let check = try #require(try outcome.json()["check"])
    #expect(
      check.object?.keys == [
        "verdict", "tokens", "kl_divergence", "standard_error", "top_1_agreement", "perplexity_ratio", "seconds",
      ])
    let divergence = try #require(check["kl_divergence"]?.double)
    #expect(try #require(check["tokens"]?.int) > 0)
    // In 16 bits the difference is that of the last digits, in 8 that of a hundredth of a weight and of int8 activations.
    #expect(bits == "2" ? divergence > 0 : abs(divergence) < (bits == "8" ? 1e-2 : 1e-3))
    #expect(check["verdict"] == .string("\(ConversionCheck.Verdict(divergence: divergence))"))
    // The same text and the same figures, whatever the number of threads.
    let again = try dibit("convert", source, "-o", scratch("again"), "--bits", bits, "--threads", "3", "--json").json()["check"]
    for key in ["tokens", "kl_divergence", "top_1_agreement"] { #expect(again?[key] == check[key], "\(key)") }
    let shown = try dibit("convert", source, "-o", scratch("shown"), "--bits", bits)
    #expect(shown.output.contains("\ncheck: \(ConversionCheck.Verdict(divergence: divergence).rawValue), on "))
    #expect(shown.errors.hasSuffix("wrote \(scratch("shown"))\n") || shown.errors.contains("wrote \(scratch("shown"))\nchecking: "))
  }

  @Test func verdicts() {
    let verdicts = [0, 0.09, 0.1, 2.9, 3, 20].map { ConversionCheck.Verdict(divergence: $0) }
    #expect(verdicts == [.close, .close, .worse, .worse, .destroyed, .destroyed])
    // Weights that give no number are of no use.
    #expect(ConversionCheck.Verdict(divergence: .nan) == .destroyed)
  }

  @Test("a model whose weights were lost is called destroyed, with what to type")
  func destroyed() throws {
    // Outputs of one sharp token each, which two bits cannot keep.
    var tiny = try TinyCheckpoint.llama()
    let head = tiny.tensors.firstIndex { $0.name == "lm_head.weight" } ?? 0
    for index in tiny.tensors[head].values.indices { tiny.tensors[head].values[index] *= 400 }
    for tensor in tiny.tensors.indices where tiny.tensors[tensor].name.hasSuffix("proj.weight") {
      for index in tiny.tensors[tensor].values.indices { tiny.tensors[tensor].values[index] *= 4 }
    }
    let source = try tiny.write(to: scratch)
    let (model, advice) = (scratch("model"), "measures it on texts of yours\n")
    let outcome = try dibit("convert", source, "-o", model)
    #expect(outcome.status == 0)
    #expect(outcome.output.contains("\ncheck: destroyed, on "), "\(outcome.output)")
    #expect(
      outcome.errors.hasSuffix(
        "warning: 2 bits destroyed this model: convert it with --calibrate, or with --bits 4 or --bits 16; "
          + "'dibit perplexity \(model) --reference \(source) --data TEXT' \(advice)"))
  }

  @Test func nothingToCheck() throws {
    let source = try TinyCheckpoint.llama().write(to: scratch)
    let exact = try dibit("convert", source, "-o", scratch("exact"), "--bits", "32", "--json")
    #expect(exact.errors.contains("note: every weight kept its value, so there is nothing to check\n"), "\(exact.errors)")
    #expect(try exact.json()["check"] == .null)
    let unchecked = try dibit("convert", source, "-o", scratch("plain"), "--no-check")
    #expect(unchecked.status == 0 && !unchecked.output.contains("check"))
    #expect(!unchecked.errors.contains("check"))
  }

  @Test("--dry-run tells what would be written and writes nothing")
  func dryRun() throws {
    let source = try TinyCheckpoint.llama().write(to: scratch)
    let outcome = try dibit("convert", source, "-o", scratch("model"), "--dry-run", "--json")
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(scratch.names == ["source"])
    let forecast = try outcome.json()
    let report = try dibit("convert", source, "-o", scratch("model"), "--no-check", "--json").json()
    for key in ["architecture", "parameters", "source_bytes", "bits_per_weight"] { #expect(forecast[key] == report[key], "\(key)") }
    let keys = ["name", "shape", "storage", "bytes"]
    func told(_ json: JSONValue) -> [[JSONValue?]] { json["tensors"]?.array?.map { tensor in keys.map { tensor[$0] } } ?? [] }
    #expect(told(forecast) == told(report) && !told(report).isEmpty)
    #expect(forecast["dry_run"] == true && forecast["digest"] == .null)
    #expect(try #require(forecast["seconds"]?.double) > 0)
    let shown = try dibit("convert", source, "-o", scratch("other"), "--dry-run", "--bits", "4")
    #expect(shown.output.contains("4 bits, groups of 64") && shown.output.hasSuffix("nothing was written\n"))
    #expect(shown.errors == "" && scratch.names == ["model", "source"])
    // What would be refused is refused.
    try expectFailure(
      ["convert", source, "-o", scratch("model"), "--dry-run"], status: 73,
      message: "'\(scratch("model"))': the output exists already; choose another name or pass --overwrite")
    try expectFailure(
      ["convert", scratch("model"), "-o", scratch("other"), "--dry-run"], status: 65,
      message: try dibit("convert", scratch("model"), "-o", scratch("other")).errors.dropFirst(7).dropLast().description)
  }
}
