internal import ArgumentParser
internal import DibitCheckpoint
internal import DibitEvaluation
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON
internal import DibitReport

/// The destination of the result of an evaluation.
struct ResultArguments: ParsableArguments {
  @Flag(help: "Print the report as JSON.") var json = false
  @Flag(help: "Put mistakes with their texts into the JSON too.") var samples = false
  @Option(help: ArgumentHelp("Write the report as a page for a browser; an earlier report there is replaced.", valueName: "file.html"))
  var report: String?
  @Flag(help: "Keep the texts of mistakes out of the page.") var withoutTexts = false
  @Option(
    help: ArgumentHelp("Also keep the report as a file of its own in this folder, for 'dibit report'.", valueName: "folder"))
  var runs: String?
  @Option(help: ArgumentHelp("Write the confusion matrix of every run and baseline as CSV.", valueName: "file.csv"))
  var confusionCsv: String?
  @Option(help: ArgumentHelp("Write every answer of every run and baseline as CSV.", valueName: "file.csv"))
  var predictionsCsv: String?

  func validate() throws {
    if samples, !json, runs == nil { throw ValidationError("--samples: expected --json or --runs beside it") }
    if withoutTexts, report == nil { throw ValidationError("--without-texts: expected --report beside it") }
  }

  /// True where the report needs texts.
  var keepsTexts: Bool { samples || report != nil && !withoutTexts }

  /// Finds what cannot be written; tables that exist are replaced only with `overwrite`.
  func check(overwrite: Bool, _ inputs: JobInputs) throws {
    let files = [report, confusionCsv, predictionsCsv].compactMap(\.self)
    for index in files.indices {
      do throws(FileError) { try JobInputs(Array(files[..<index])).check(output: files[index]) } catch {
        throw Failure(.usage, "'\(files[index])' is given for two outputs; give each a file of its own")
      }
    }
    if let report { try Self.checkWritable(report, replacing: .report, inputs) }
    if let confusionCsv { try Self.checkWritable(confusionCsv, replacing: overwrite ? .confusion : nil, inputs) }
    if let predictionsCsv { try Self.checkWritable(predictionsCsv, replacing: overwrite ? .answers : nil, inputs) }
    if let runs { try makeDirectory(runs, inputs: inputs) }
  }

  /// Writes beside the file, and takes that away again.
  private static func checkWritable(_ path: String, replacing mark: OutputMark?, _ inputs: JobInputs) throws {
    let file = try StagedFile(destination: path, replacing: mark, inputs: inputs)
    let parent = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    guard isDirectory(parent) else { throw Failure(.cannotCreate, "'\(path)': its directory does not exist; create it first") }
    try writeFileAtomically(path: file.path, bytes: [], inputs: inputs)
  }

  /// Writes and shows the report; `predictions` are all answers as CSV.
  ///
  /// What cannot be written is told behind the result, and takes nothing else with it: the work behind it may have taken hours.
  func write(_ report: EvaluationReport, predictions: @autoclosure () -> String, overwrite: Bool, _ inputs: JobInputs) throws {
    try OpenedModels.waitForChecks()
    var (written, fault): ([String], FileError?) = ([], nil)
    func write(_ path: String?, replacing mark: OutputMark?, _ text: @autoclosure () -> String) {
      guard let path else { return }
      do throws(FileError) {
        try writeFileAtomically(path: path, bytes: Array(text().utf8), replacing: mark, inputs: inputs)
        written.append(path)
      } catch { fault = fault ?? error }
    }
    write(self.report, replacing: .report, HTMLReport(withoutTexts ? report.withoutTexts : report).html)
    write(confusionCsv, replacing: overwrite ? .confusion : nil, report.confusionCSV)
    write(predictionsCsv, replacing: overwrite ? .answers : nil, predictions())
    let plain = samples ? report : report.withoutTexts
    if let runs {
      let text = plain.json.serialized(pretty: true) + "\n"
      write(runs + "/" + ReportDate.fileName(seconds: WallClock.now, digest: SHA256.digest(Array(text.utf8))), replacing: nil, text)
    }
    if json {
      printJSON(plain.json)
    } else {
      show(report)
    }
    for path in written { Terminal.wrote(path) }
    if let fault { throw fault }
  }
}

/// Prints a report: on one screen of a terminal, whole where nobody scrolls, or where the screen's height is not known.
func show(_ report: EvaluationReport) {
  let size = StandardOutput.size
  for line in TerminalReport(report, width: min(size?.columns ?? 100, 140), height: size?.rows ?? 500).lines { Output.print(line) }
  guard size?.rows == nil else { return }
  for note in report.notes { for line in wrapped("note: \(note.text)", width: size?.columns) { Output.print(line) } }
}

extension OutputMark {
  /// Pages with a report.
  static let report = OutputMark("a report", text: HTMLReport.generator)
  /// Tables of evaluations, which begin with their columns.
  static let confusion = table("a confusion matrix", EvaluationReport.confusionColumns)
  static let answers = table("a table of answers", EvaluationStudy.predictionColumns)

  private static func table(_ name: String, _ columns: [String]) -> OutputMark {
    let start = Array(columns.joined(separator: ",").utf8)
    return OutputMark(name) { $0.starts(with: start) }
  }
}

extension EvaluationReport {
  /// The same without the texts of mistakes.
  fileprivate var withoutTexts: EvaluationReport {
    var report = self
    for index in report.runs.indices { report.runs[index].samples = [] }
    for index in report.baselines.indices { report.baselines[index].samples = [] }
    return report
  }
}

/// The command line, so that a shell runs it again.
enum CommandText {
  static var ofProcess: String {
    (["dibit"] + CommandLine.arguments.dropFirst()).map(quoted).joined(separator: " ")
  }

  static func quoted(_ argument: String) -> String {
    let plain = argument.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
      default: "-_./,:=@%+".utf8.contains(byte)
      }
    }
    return plain && !argument.isEmpty ? argument : "'" + argument.replacing("'", with: "'\\''") + "'"
  }
}
