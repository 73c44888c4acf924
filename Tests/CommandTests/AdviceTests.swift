import DibitBenchmark
@testable import DibitCommand
import DibitDataset
import DibitFailure
import DibitFiles
import DibitInference
import DibitModelStore
import DibitRecipe
import DibitReport
import DibitTokenizer
import DibitTraining
import Testing

/// Engines name options as a program does and know no commands; what a person reads names both as they are typed.
@Suite struct AdviceTests {
  @Test(arguments: [
    ("raise \(optionName("maxTokens")) or shorten the label", "raise --max-tokens or shorten the label"),
    (
      "pass \(optionName("resume")) to go on, or \(optionName("overwrite")) to begin anew",
      "pass --resume to go on, or --overwrite to begin anew"
    ),
    ("name yours with \(optionName("textColumn")) and \(optionName("labelColumn"))", "name yours with --text-column and --label-column"),
    ("\(optionName("maximumTokens")): expected at least 1, found 0", "--max-tokens: expected at least 1, found 0"),
    // What a person has written is shown as it is, whatever its marks.
    ("'`resume`': `dibit export MODEL` and `x y` and ``", "'`resume`': `dibit export MODEL` and `x y` and ``"),
    (quoted("\(optionName("resume"))"), "'\\u{0}resume\\u{0}'"),
  ])
  func options(text: String, shown: String) { #expect(Advice.options(in: text) == shown) }

  @Test func everyLayerAddsItsLocationAndKeepsTheAdviceOfTheCause() {
    let exists = FileError.outputExists(path: "o")
    let sentences: [(any EngineError, Failure.Code, String)] = [
      (FileError.notFound(path: "`resume`"), .missingInput, "'`resume`': no such file or directory"),
      (InferenceError.emptyPrompt, .badData, "the prompt has no tokens"),
      (ChatFrameError.unfit, .badData, "it does not write an instruction, a text and an answer one after the other"),
      (exists, .cannotCreate, "'o': the output exists already; choose another name or pass --overwrite"),
      (
        BenchmarkError.store(.file(exists)), .cannotCreate, "'o': the output exists already; choose another name or pass --overwrite"
      ),
      (
        ModelStoreError.notConverted(path: "m"), .badData,
        "'m' is a checkpoint, not a converted model: run 'dibit convert m --output MODEL' first (--bits 32 keeps its weights)"
      ),
      (
        ModelStoreError.noTokenizer(path: "m"), .missingInput,
        "'m': no tokenizer.json, tokenizer.model or tokenizer.bin there; 'dibit convert' takes one with --tokenizer"
      ),
      (ReportError.missing(path: "runs"), .badData, "not a saved report: 'runs' is missing; 'dibit evaluate --json' writes reports"),
      (
        TrainingError.memoryLimit(given: 1, least: 2), .usage,
        "--memory-limit: 1 bytes are given, but the least that this run needs are 2: allow as much, or lower the tokens of a step"
      ),
      (
        TrainingError.conversation(.tooLong(location: "p", limit: 8)), .badData,
        "'p': the messages need 8 tokens or more even without the answer, which is the limit: raise --max-tokens"
      ),
      (RecipeError.badSetting("a"), .badData, "--set: expected KEY=VALUE with a value in YAML, found 'a'"),
      (
        DatasetError.row(file: "d.csv", line: 1, column: nil, fault: .sameColumn("text")), .badData,
        "'d.csv', line 1: a text and a label expected, 'text' asked for as both; name another with --text-column or --label-column"
      ),
    ]
    for (error, code, sentence) in sentences {
      let failure = Failure(of: error)
      #expect(failure.code == code && failure.message == sentence)
    }
  }
}
