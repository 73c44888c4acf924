internal import ArgumentParser
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitModelStore
internal import DibitTokenizer

struct TokenizeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tokenize",
    abstract: "Show the token ids of a text, or count those of many.",
    discussion: """
      Example: dibit tokenize ./model --text "Once upon a time"
      Example: dibit tokenize ./model --count ./mail notes.jsonl

      SOURCE is a model directory or a tokenizer file of any kind that 'dibit convert' reads. Bytes that are not UTF-8 count as U+FFFD; a byte order mark is no part of \
      a text. With --lines every line of the file is a text of its own, and gets a line of ids. 'dibit detokenize' is the way back.

      With --count there may be many files, and folders of them; a file of rows counts as the texts in its rows, a row being the whole line \
      with --lines. What the tokenizer puts around a text is counted with each.
      """)

  @Argument(help: "A model (directory or file), or a tokenizer file.") var source: String
  @Argument(help: ArgumentHelp("The file with the text, or - for standard input; with --count files and folders.", valueName: "file"))
  var files: [String] = []
  @Option(help: "The text itself.") var text: String?
  @Flag(help: "Take special tokens that are spelled out in the text as plain text.") var plain = false
  @Flag(help: "Do not add what the tokenizer adds, such as a token for the start of a text.") var bare = false
  @Flag(help: "Each line of the file is a text.") var lines = false
  @Flag(help: "Print how many tokens each file has, and all together.") var count = false
  @Flag(help: "Print ids and tokens as JSON.") var json = false

  /// Far above any text that somebody wants to see the ids of.
  private static let largest = 1 << 30

  func validate() throws {
    guard files.isEmpty != (text == nil) else {
      throw ValidationError("expected a FILE or --text, found \(files.isEmpty ? "neither" : "both")")
    }
    guard count || files.count < 2 else { throw ValidationError("expected one FILE, found \(files.count); many go with --count") }
    guard !lines || !files.isEmpty else { throw ValidationError("--lines: expected a FILE, found none") }
  }

  func run() throws {
    Interrupt.listen()
    let tokenizer = try TokenizerSource.open(source).tokenizer
    if count { return try showCounts(tokenizer) }
    let input = try text ?? String(decoding: bytes(of: files.first ?? ""), as: UTF8.self)
    guard lines else { return show(tokenizer, encode(input, tokenizer)) }
    for line in Self.lines(of: input) { show(tokenizer, encode(String(line), tokenizer)) }
  }

  private func bytes(of path: String) throws -> [UInt8] {
    var bytes = try path == TextLocation.standardInput ? UTF8Text.standardInput() : readFile(path, limit: Self.largest)
    UTF8Text.removeMark(from: &bytes)
    return bytes
  }

  /// The lines of a text; a line end at its end begins no further one.
  static func lines(of text: String) -> [Substring] {
    var rest = Substring(text)
    if rest.unicodeScalars.last == "\n" { rest = Substring(rest.unicodeScalars.dropLast()) }
    return rest.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { Substring($0) }
  }

  private func encode(_ text: String, _ tokenizer: Tokenizer) -> [Int32] {
    tokenizer.encode(text, addingSpecialTokens: !bare, parsingSpecialTokens: !plain)
  }

  private func show(_ tokenizer: Tokenizer, _ ids: [Int32]) {
    guard json else { return Output.print(ids.map(String.init).joined(separator: " ")) }
    let object: JSONValue = [
      "ids": .array(ids.map { .integer(Int($0)) }), "tokens": .array(ids.map { .string(tokenizer.token(of: $0) ?? "") }),
    ]
    Output.print(object.serialized())
  }
}

extension TokenizeCommand {
  /// Counts the tokens of a text, or of all files.
  private func showCounts(_ tokenizer: Tokenizer) throws {
    if let text {
      let tokens = encode(text, tokenizer).count
      return json ? printJSON(["texts": 1, "tokens": .integer(tokens)]) : Output.print("\(tokens)")
    }
    var options = TextInputOptions()
    options.format = lines ? .lines : .auto
    options.maximumTextBytes = Self.largest
    options.isStopped = { Interrupt.isRequested }
    let inputs = TextInputs(files, options: options)
    for finding in inputs.report.summary { Terminal.note(finding) }
    var counts: [(file: String, texts: Int, tokens: Int)] = []
    var failures: [Failure] = []
    for input in inputs {
      switch input.content {
      case .success(let text):
        if counts.last?.file != input.location.file { counts.append((input.location.file, 0, 0)) }
        counts[counts.count - 1].texts += 1
        counts[counts.count - 1].tokens += encode(text, tokenizer).count
      case .failure(let error):
        failures.append(Failure(of: error))
        if failures.count <= 10 { Terminal.write("not counted: \(error)\n") }
      }
    }
    if Interrupt.isRequested { throw Failure(.interrupted, "interrupted after \(counted(counts.count, "file"))") }
    let (texts, tokens) = counts.reduce((0, 0)) { ($0.0 + $1.texts, $0.1 + $1.tokens) }
    if json {
      let files = counts.map { file -> JSONValue in
        ["file": .string(file.file), "texts": .integer(file.texts), "tokens": .integer(file.tokens)]
      }
      printJSON(["texts": .integer(texts), "tokens": .integer(tokens), "files": .array(files)])
    } else if !counts.isEmpty {
      printTable(
        [["", "texts", "tokens"]] + counts.map { [$0.file, grouped($0.texts), grouped($0.tokens)] }
          + (counts.count > 1 ? [["all", grouped(texts), grouped(tokens)]] : []))
    }
    if let first = failures.first {
      throw Failure(first.code, "\(grouped(failures.count)) of \(counted(texts + failures.count)) could not be counted")
    }
  }
}
