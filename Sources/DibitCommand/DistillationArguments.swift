internal import ArgumentParser

/// Options of the commands in which a converted model learns from its float checkpoint.
struct DistillationArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A file or a folder of text; .csv, .tsv and .jsonl files are rows: texts, or conversations. May be given again.", valueName: "text"))
  var data: [String] = []

  @Option(
    help: ArgumentHelp(
      "Tokens of text that the float model writes itself, beside --data; by default as many as the steps read, up to a million, where there "
        + "is no --data.", valueName: "tokens"))
  var ownText: Int?

  @Option(help: ArgumentHelp("Training steps; by default as many as read a million tokens.", valueName: "n")) var steps: Int?

  func validate() throws {
    if data.isEmpty, ownText == 0 { throw ValidationError("--own-text: expected --data beside 0, as there is no other text") }
  }
}
