internal import ArgumentParser
internal import DibitDataset
internal import DibitFiles

/// The texts of commands that go through many: files, folders, rows, standard input.
struct TextInputArguments: ParsableArguments {
  @Argument(help: ArgumentHelp("Files, folders, or - for standard input.", valueName: "path")) var paths: [String]
  @Option(
    help: ArgumentHelp("What the inputs are: auto, text, lines, csv, tsv or jsonl; auto goes by the ending of a file.", valueName: "form"),
    transform: { try choice($0, "--input-format") })
  var inputFormat = TextInputFormat.auto
  @Flag(help: "Every line is a text: as --input-format lines.") var lines = false
  @Option(help: ArgumentHelp("The column or key of the text in rows; by default text or a name like it.", valueName: "name"))
  var textColumn: String?

  func validate() throws {
    if textColumn?.isEmpty == true { throw ValidationError("--text-column: expected some text, found none") }
    if paths.count(where: { $0 == TextLocation.standardInput }) > 1 { throw ValidationError("expected - for standard input once") }
    if lines, inputFormat != .auto, inputFormat != .lines {
      throw ValidationError("--lines: expected either it or --input-format, found both")
    }
  }

  /// The form of all inputs that was asked for.
  var format: TextInputFormat { lines ? .lines : inputFormat }

  /// The inputs, without the job's own output where that lies in a folder of them.
  func texts(excluding output: String?) -> TextInputs {
    var options = TextInputOptions()
    options.format = format
    (options.textColumn, options.excluded) = (textColumn, output)
    options.isStopped = { Interrupt.isRequested }
    return TextInputs(paths, options: options)
  }

  /// Returns the inputs that an output may not destroy: `others` and the files. Folders leave the output out, so one may lie there.
  func jobInputs(beside others: [String?]) -> JobInputs {
    let files = paths.filter { $0 != TextLocation.standardInput && !isDirectory($0) }
    return JobInputs(others + files, searched: paths.filter(isDirectory))
  }
}
