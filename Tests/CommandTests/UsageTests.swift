import DibitKernels
import DibitTestSupport
import Testing

/// Wrong calls exit 64, say what is wrong in one line that begins with "error: " and print nothing.
@Suite struct UsageTests {
  static let wrongCalls: [(arguments: [String], message: String)] = [
    (["convert"], "Missing expected argument '<checkpoint>'"),
    (["convert", "a"], "Missing expected argument '--output <output>'"),
    (["convert", "a", "-o", "b", "--bits", "9"], "--bits: expected 2, 4, 8, 16 or 32, or a mean between 2 and 8, found 9"),
    (["convert", "a", "-o", "b", "--bits", "two"], "--bits: expected a number, found 'two'"),
    (["convert", "a", "-o", "b", "--embedding-bits", "2"], "--embedding-bits: expected 4, 8, 16 or 32, found 2"),
    (["convert", "a", "-o", "b", "--group-size", "16"], "--group-size: expected 32, 64, 128 or row, found 16"),
    (["convert", "a", "-o", "b", "--threads", "0"], "--threads: expected a number from 1 to 1024, found 0"),
    (["convert", "a", "-o", "b", "--threads=-1"], "--threads: expected a number from 1 to 1024, found -1"),
    (["convert", "a", "-o", "b", "--threads", "-1"], "--threads: expected a number from 1 to 1024, found -1"),
    (
      ["train", "m", "--data", "d", "-o", "o", "--learning-rate", "-1e-3"],
      "--learning-rate: expected a number from 0.0 to 10.0, found -0.001"
    ),
    (["predict", "m", "--adapter", "a", "x", "--threshold", "-.5"], "--threshold: expected a number from 0 to 1, found -0.5"),
    (["evaluate", "m", "--data", "d", "--seed", "-1"], "--seed: expected a number of 0 or more, found '-1'"),
    (["pretrain", "r", "-o", "o", "--steps", "-5"], "--steps: expected at least 1, found -5"),
    (["bench", "m", "--runs", "-1"], "--runs: expected a number from 1 to 1000, found -1"),
    (["convert", "a", "-o", "b", "--threads", "1025"], "--threads: expected a number from 1 to 1024, found 1025"),
    (["convert", "a", "-o", "b", "--threads", "all"], "--threads: expected a number, found 'all'"),
    (["train", "m", "--output", "o"], "Missing expected argument '--data <path>'"),
    (["train", "m", "--data", "d", "-o", "o", "--epochs", "0"], "--epochs: expected a number from 1 to 10000, found 0"),
    (["train", "m", "--data", "d", "-o", "o", "--batch-size", "0"], "--batch-size: expected a number from 1 to 4096, found 0"),
    (["train", "m", "--data", "d", "-o", "o", "--learning-rate", "11"], "--learning-rate: expected a number from 0.0 to 10.0, found 11.0"),
    (["train", "m", "--data", "d", "-o", "o", "--rank", "5000"], "--rank: expected a number from 1 to 4096, found 5000"),
    (["train", "m", "--data", "d", "-o", "o", "--max-tokens", "7"], "--max-tokens: expected a number from 8 to 1048576, found 7"),
    (["train", "m", "--data", "d", "-o", "o", "--prompt-form", "chats"], "--prompt-form: expected chat or plain, found 'chats'"),
    (["train", "m", "--data", "d", "-o", "o", "--class-weights", "heavy"], "--class-weights: expected balanced or none, found 'heavy'"),
    (["generate", "m"], "--prompt, --prompt-file, --messages or a text on standard input expected, found none"),
    (["generate", "m", "--prompt", "p", "--prompt-file", "f"], "--prompt-file: expected either it or --prompt, found both"),
    (["generate", "m", "--messages", "f", "--raw"], "--messages: a chat needs a chat template, which --raw leaves out"),
    (
      ["generate", "m", "--prompt", "p", "--system", "s", "--raw"],
      "--system: a system message needs a chat template, which --raw leaves out"
    ),
    (["generate", "m", "--prompt", "p", "--special-tokens"], "--special-tokens: goes with --raw"),
    (["generate", "m", "--prompt", "p", "--choices", ""], "--choices: expected texts between the commas, found none"),
    (["generate", "m", "--prompt", "p", "--choices", "a,,b"], "--choices: expected texts between the commas, found none in 'a,,b'"),
    (["generate", "m", "--prompt", "p", "--temperature", "-1"], "--temperature: expected a number from 0 to 100, found -1.0"),
    (["generate", "m", "--prompt", "p", "--top-p", "-inf"], "--top-p: expected a number above 0 and up to 1, found -inf"),
    (["generate", "m", "--prompt", "p", "--max-tokens", "-1"], "--max-tokens: expected at least 1, found -1"),
    (["chat", "m", "--max-tokens", "0"], "--max-tokens: expected at least 1, found 0"),
    (["chat", "m", "--overwrite"], "--overwrite: expected --save beside it"),
    (["chat", "m", "--stop", ""], "--stop: expected some text, found none"),
    (["embed", "m"], "Missing expected argument '<path> ...'"),
    (["embed", "m", "x", "--format", "safetensors"], "--format safetensors: expected --output beside it"),
    (["embed", "m", "x", "--overwrite"], "--overwrite: expected --output beside it"),
    (["embed", "m", "x", "--max-tokens", "0"], "--max-tokens: expected a number from 1 to 1048576, found 0"),
    (
      ["embed", "m", "x", "--pooling", "max"],
      "--pooling: expected mean or last, found 'max'"
    ),
    (["tokenize", "m"], "expected a FILE or --text, found neither"),
    (["tokenize", "m", "a", "b"], "expected one FILE, found 2; many go with --count"),
    (["detokenize", "m"], "expected a FILE or --ids, found neither"),
    (["generate", "m", "--prompt", "p", "--max-tokens", "0"], "--max-tokens: expected at least 1, found 0"),
    (["generate", "m", "--prompt", "p", "--temperature=-1"], "--temperature: expected a number from 0 to 100, found -1.0"),
    (["generate", "m", "--prompt", "p", "--top-k=-1"], "--top-k: expected 0 or more, found -1"),
    (["generate", "m", "--prompt", "p", "--top-p", "0"], "--top-p: expected a number above 0 and up to 1, found 0.0"),
    (["generate", "m", "--prompt", "p", "--temperature", "nan"], "--temperature: expected a number from 0 to 100, found nan"),
    (["generate", "m", "--prompt", "p", "--temperature", "warm"], "--temperature: expected a number, found 'warm'"),
    (["generate", "m", "--prompt", "p", "--min-p", "1.5"], "--min-p: expected a number from 0 to 1, found 1.5"),
    (["generate", "m", "--prompt", "p", "--min-p=-0.1"], "--min-p: expected a number from 0 to 1, found -0.1"),
    (
      ["generate", "m", "--prompt", "p", "--repetition-penalty", "0"], "--repetition-penalty: expected a number from 0.01 to 100, found 0.0"
    ),
    (["generate", "m", "--prompt", "p", "--repetition-window=-1"], "--repetition-window: expected 0 or more, found -1"),
    (["generate", "m", "--prompt", "p", "--seed=-1"], "--seed: expected a number of 0 or more, found '-1'"),
    (["generate", "m", "--prompt", "p", "--max-tokens", "1e3"], "--max-tokens: expected a whole number, found '1e3'"),
    (
      ["generate", "m", "--prompt", "p", "--max-tokens", "99999999999999999999"],
      "--max-tokens: expected a smaller number, found '99999999999999999999'"
    ),
    (["train", "m", "--data", "d", "-o", "o", "--memory-limit", "-5G"], "--memory-limit: expected a size like 800M or 2G, found '-5G'"),
    (["generate", "m", "--prompt", "p", "--schema", ""], "--schema: expected a file or a schema, found nothing"),
    (["generate", "m", "--prompt", "p", "--stop", ""], "--stop: expected some text, found none"),
    (
      ["generate", "m", "--prompt", "p", "--schema", "{}", "--stop", "}"],
      "--stop: expected either it or --schema, which ends the answer itself, found both"
    ),
    (
      ["generate", "m", "--prompt", "p", "--choices", "yes,no", "--stop", "es"],
      "--stop: expected either it or --choices, which ends the answer itself, found both"
    ),
    (["generate", "m", "--prompt", "p", "--json", "--logprobs", "101"], "--logprobs: expected a number from 0 to 100, found 101"),
    (["generate", "m", "--prompt", "p", "--logprobs", "2"], "--logprobs: log-probabilities are a part of --json, which is missing"),
    (["generate", "m", "--prompt", "p", "--json", "--prompt-logprobs"], "--prompt-logprobs: expected --logprobs beside it"),
    (["predict", "m", "--adapter", "a"], "Missing expected argument '<path> ...'"),
    (["predict", "m", "--adapter", "a", "-", "-"], "expected - for standard input once"),
    (["predict", "m", "--adapter", "a", "x", "--threshold", "1.5"], "--threshold: expected a number from 0 to 1, found 1.5"),
    (["predict", "m", "--adapter", "a", "x", "--threshold", "nan"], "--threshold: expected a number from 0 to 1, found nan"),
    (["predict", "m", "--adapter", "a", "x", "--tags", "0"], "--tags: expected at least 1, found 0"),
    (["predict", "m", "--adapter", "a", "x", "--text-column", ""], "--text-column: expected some text, found none"),
    (
      ["predict", "m", "--adapter", "a", "x", "--format", "xml"],
      "--format: expected text, csv, jsonl or json, found 'xml'"
    ),
    (
      ["predict", "m", "--adapter", "a", "x", "--cut", "legs"],
      "--cut: expected tail, head or middle, found 'legs'"
    ),
    (
      ["predict", "m", "--adapter", "a", "x", "--lines", "--input-format", "csv"],
      "--lines: expected either it or --input-format, found both"
    ),
    (["predict", "m", "--adapter", "a", "x", "--json", "--format", "csv"], "--json: expected either it or --format, found both"),
    (["predict", "m", "--adapter", "a", "x", "--scores"], "--scores: goes with --format csv, jsonl or json"),
    (["predict", "m", "--adapter", "a", "x", "--resume"], "--resume: expected --output beside it"),
    (["predict", "m", "--adapter", "a", "x", "--overwrite"], "--overwrite: expected --output beside it"),
    (
      ["predict", "m", "--adapter", "a", "x", "-o", "o", "--resume", "--overwrite"],
      "--resume: expected either it or --overwrite, found both"
    ),
    (["predict", "m", "--adapter", "a", "x", "-o", "o", "--resume", "--json"], "--resume: goes with --format text, csv or jsonl"),
    (["report"], "Missing expected argument '<path> ...'"),
    (["report", "r", "--overwrite"], "--overwrite: expected --html beside it"),
    (
      ["report", "r", "--metric", "f2"],
      "--metric: expected accuracy, macro_f1 or log_loss, found 'f2'"
    ),
    (["dataset"], "Missing expected argument '<path>'"),
    (["dataset", "d", "--preview", "3"], "--preview: expected --model or --tokenizer beside it"),
    (["dataset", "d", "--model", "m", "--tokenizer", "t"], "--tokenizer: expected either it or --model, found both"),
    (
      ["dataset", "d", "--answers", "some"],
      "--answers: expected all or last, found 'some'"
    ),
    (["dataset", "d", "--label-separator", ""], "--label-separator: expected some text, found none"),
    (["evaluate", "m", "--data", "d", "--samples"], "--samples: expected --json or --runs beside it"),
    (["evaluate", "m", "--data", "d", "--without-texts"], "--without-texts: expected --report beside it"),
    (["convert", "a", "--base", "m", "-o", "o", "--bits", "2"], "--bits: goes without --base"),
    (["convert", "a", "--base", "m", "-o", "o", "--group-size", "64"], "--group-size: goes without --base"),
    (["convert", "a", "--base", "m", "-o", "o", "--embedding-bits", "4"], "--embedding-bits: goes without --base"),
    (["convert", "a", "--base", "m", "-o", "o", "--tokenizer", "t"], "--tokenizer: goes without --base"),
    (["convert", "a", "--base", "m", "-o", "o", "--no-check"], "--no-check: goes without --base"),
    (["evaluate", "m"], "Missing expected argument '--data <path>'"),
    (["pretrain", "r", "-o", "o", "--steps", "0"], "--steps: expected at least 1, found 0"),
    (["perplexity", "m"], "Missing expected argument '--data <data>'"),
    (["perplexity", "m", "--data", "d", "--window", "1"], "--window: expected at least 2, found 1"),
    (["perplexity", "m", "--data", "d", "--limit", "1"], "--limit: expected at least 2, found 1"),
    (["bench"], "expected either a model or --shape"),
    (["bench", "m", "--shape", "1b"], "expected either a model or --shape"),
    (["bench", "--shape", "2b"], "--shape: expected 110m, 1b or 3b, found '2b'"),
    (["bench", "m", "--bits", "2"], "--bits: a model has its own; goes with --shape"),
    (["bench", "m", "--group-size", "64"], "--group-size: a model has its own; goes with --shape"),
    (["bench", "m", "--levels", "trellis"], "--levels: a model has its own; goes with --shape"),
    (["bench", "--shape", "1b", "--bits", "5"], "--bits: expected 2, 3, 4, 8, 16 or 32, found 5"),
    (["bench", "--shape", "1b", "--group-size", "16"], "--group-size: expected 32, 64, 128 or row, found 16"),
    (["bench", "--shape", "1b", "--embedding-bits", "2"], "--embedding-bits: expected 4, 8, 16 or 32, found 2"),
    (["bench", "m", "--prompt-tokens", "0"], "--prompt-tokens: expected a number from 1 to 1048576, found 0"),
    (["bench", "m", "--decode-tokens", "0"], "--decode-tokens: expected a number from 1 to 1048576, found 0"),
    (["bench", "m", "--context=-1"], "--context: expected a number from 0 to 1048576, found -1"),
    (["bench", "m", "--runs", "0"], "--runs: expected a number from 1 to 1000, found 0"),
    (["bench", "m", "--threads", "0"], "--threads: expected a number from 1 to 1024, found 0"),
    (["selftest", "--threads", "0"], "--threads: expected a number from 1 to 1024, found 0"),
    (["selftest", "--fault", "none"], "--fault: expected the name of a kernel, found 'none'"),
    (["inspect"], "Missing expected argument '<path>'"),
    (["convert", "a", "-o", "b", "--dry-run", "--base", "m"], "--dry-run: goes without --base"),
  ]

  /// What was typed and does not exist is named before what is missing.
  static let mistakes: [(arguments: [String], message: String)] = [
    (["trian", "m", "--data", "d"], "unknown command 'trian'; did you mean 'train'?"),
    (["predic", "m"], "unknown command 'predic'; did you mean 'predict'?"),
    (["eval"], "unknown command 'eval'; did you mean 'evaluate'?"),
    (["help", "conver"], "unknown command 'conver'; did you mean 'convert'?"),
    (["frobnicate", "m"], "unknown command 'frobnicate'; see 'dibit --help'"),
    (["train", "m", "--data", "d", "--outptu", "o"], "unknown option '--outptu'; did you mean '--output'?"),
    (["train", "m", "--dta=d", "--output", "o"], "unknown option '--dta'; did you mean '--data'?"),
    (["generate", "m", "--prompt", "p", "--temprature", "1"], "unknown option '--temprature'; did you mean '--temperature'?"),
    (["convert", "a", "-o", "b", "--colour"], "unknown option '--colour'; see 'dibit convert --help'"),
    (["inspect", "a", "-q"], "unknown option '-q'; see 'dibit inspect --help'"),
    (["--vresion"], "unknown option '--vresion'; did you mean '--version'?"),
    (["--threads", "4", "convert", "a"], "unknown option '--threads'; see 'dibit --help'"),
  ]

  @Test(arguments: mistakes.indices)
  func mistake(index: Int) throws {
    try expectFailure(Self.mistakes[index].arguments, status: 64, message: Self.mistakes[index].message)
  }

  @Test(arguments: wrongCalls.indices)
  func wrongCall(index: Int) throws {
    let call = Self.wrongCalls[index]
    let outcome = try DibitProcess(call.arguments).finish()
    #expect(outcome.status == 64, "\(call.arguments): \(outcome.errors)")
    #expect(outcome.output == "")
    let isCommand = HelpTests.commands.contains(call.arguments[0])
    let help = isCommand ? "dibit \(call.arguments[0]) --help" : "dibit --help"
    #expect(outcome.errors == "error: \(call.message); see '\(help)'\n")
  }

  @Test(arguments: [
    ["train", "m", "--data", "d", "-o", "o"], ["generate", "m", "--prompt", "p"], ["convert", "a", "-o", "b"], ["bench", "m"],
    ["selftest"],
  ])
  func unknownInstructionSet(arguments: [String]) throws {
    try expectFailure(
      arguments, status: 64, message: "DIBIT_ISA: expected one of scalar, avx2, avxvnni, avx512, avx512bf16, amx, neon, found 'bogus'",
      environment: ["DIBIT_ISA": "bogus"])
  }

  @Test func unavailableInstructionSet() throws {
    // No CPU has every tier.
    let missing = try #require(ISA.allCases.last(where: { !ISA.available.contains($0) }))
    let offered = ISA.available.map { "\($0)" }.joined(separator: ", ")
    try expectFailure(
      ["generate", "m", "--prompt", "p"], status: 64, message: "DIBIT_ISA: this CPU has no \(missing); it offers \(offered)",
      environment: ["DIBIT_ISA": "\(missing)"])
  }

  @Test("more threads than CPUs give the same packed bytes")
  func manyThreads() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    for threads in ["1", "3", "64"] { #expect(try dibit("convert", source, "-o", scratch(threads), "--threads", threads).status == 0) }
    let expected = try files(below: scratch("1"))
    #expect(try files(below: scratch("3")) == expected)
    #expect(try files(below: scratch("64")) == expected)
  }

  @Test("every tier of this CPU gives the same packed bytes", arguments: ISA.available)
  func tiers(isa: ISA) throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.afm7().write(to: scratch)
    #expect(try dibit("convert", source, "-o", scratch("best")).status == 0)
    #expect(try dibit("convert", source, "-o", scratch("forced"), environment: ["DIBIT_ISA": "\(isa)"]).status == 0)
    #expect(try files(below: scratch("forced")) == files(below: scratch("best")))
  }
}
