internal import ArgumentParser
internal import DibitDataset

/// Options of every command that reads a dataset.
struct RowArguments: ParsableArguments {
  @Option(help: ArgumentHelp("The column or key of the text, in CSV, TSV and JSONL; by default text or a name like it.", valueName: "name"))
  var textColumn: String?
  @Option(
    help: ArgumentHelp("The column or key of the label, or of a list of labels; by default label or a name like it.", valueName: "name"))
  var labelColumn: String?
  @Option(help: ArgumentHelp("What stands between several labels in one field; an empty field then has none.", valueName: "text"))
  var labelSeparator: String?
  @Option(
    help: ArgumentHelp("Which answers of a conversation are learnt: all or last.", valueName: "which"),
    transform: { try choice($0, "--answers") })
  var answers = RowOptions.Answers.all

  func validate() throws {
    for (name, value) in [("text-column", textColumn), ("label-column", labelColumn), ("label-separator", labelSeparator)]
    where value?.isEmpty == true {
      throw ValidationError("--\(name): expected some text, found none")
    }
  }

  /// The options as the readers take them.
  var options: RowOptions {
    var options = RowOptions()
    (options.textColumn, options.labelColumn, options.labelSeparator, options.answers) = (textColumn, labelColumn, labelSeparator, answers)
    return options
  }

  /// Reads labelled texts or conversations.
  ///
  /// - Throws: what is wrong with them, or ``Failure`` where an option is not for texts of this kind.
  func read(_ path: String) throws -> Dataset {
    let dataset = try Dataset.read(path, rows: options)
    if dataset.kind == .labelled, answers == .last {
      throw Failure(.usage, "--answers: is for conversations; '\(path)' holds labelled texts")
    }
    return dataset
  }

  /// Reads labelled texts and tells what was noticed; conversations are an error.
  func readLabelled(_ path: String) throws -> Dataset {
    let dataset = try read(path)
    guard dataset.kind == .labelled else { throw DatasetError.notLabelled(path: path) }
    for finding in dataset.report.summary { Terminal.note(finding) }
    return dataset
  }
}
