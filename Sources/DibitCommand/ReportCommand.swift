internal import ArgumentParser
internal import DibitFailure
internal import DibitFiles
internal import DibitReport

struct ReportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Show a saved report, or rank the runs of many.",
    discussion: """
      Example: dibit report ./runs --metric macro_f1
      Example: dibit report evaluation.json --html evaluation.html

      Reports are what 'dibit evaluate --json' prints. One file is shown as it is. Of a folder, or of several files, runs over the same \
      texts are ranked, with the differences to the best where a report holds them; runs that several dated reports have (files called \
      YYYYMMDDTHHMMSSZ-<8 hexadecimal digits>.json) are followed over time.
      """)

  @Argument(help: ArgumentHelp("Saved reports, or folders of them.", valueName: "path")) var paths: [String]
  @Option(
    help: ArgumentHelp("What runs are ranked by: accuracy, macro_f1 or log_loss.", valueName: "metric"),
    transform: { try choice($0, "--metric") })
  var metric = RunMetric.accuracy
  @Option(help: ArgumentHelp("Write the one report as a page for a browser.", valueName: "file")) var html: String?
  @Flag(help: "Replace an existing page.") var overwrite = false
  @Flag(help: "Print the ranking as JSON.") var json = false

  func validate() throws {
    if overwrite, html == nil { throw ValidationError("--overwrite: expected --html beside it") }
  }

  func run() throws {
    let inputs = JobInputs([], searched: paths)
    if let html { try inputs.check(output: html) }
    let saved = SavedReports(paths)
    let count = saved.reports.count + saved.faults.count
    guard !saved.reports.isEmpty else {
      guard let first = saved.faults.first?.failure else { return }
      if count > 1 { tell(saved.faults) }
      throw count == 1 ? first : Failure(first.code, "none of \(counted(count, "report")) could be read")
    }
    tell(saved.faults)
    if let html {
      guard count == 1 else { throw Failure(.usage, "--html: expected one report, found \(count); name one of them") }
      try writeFileAtomically(
        path: html, bytes: Array(HTMLReport(saved.reports[0].report).html.utf8), replacing: overwrite ? .report : nil,
        inputs: inputs)
      Terminal.wrote(html)
    }
    let ranking = RankedReports(saved.reports, by: metric)
    if json {
      printJSON(ranking.json(unreadable: saved.faults.map { (file: $0.file, reason: $0.failure.message) }))
    } else {
      // A folder is asked for its runs, even when there is only one report in it yet.
      let isSingle = paths.count == 1 && !isDirectory(paths[0])
      if isSingle {
        show(saved.reports[0].report)
      } else {
        for line in ranking.lines(width: StandardOutput.size?.columns) { Output.print(line) }
      }
    }
    if let first = saved.faults.first?.failure {
      throw Failure(first.code, "\(saved.faults.count) of \(counted(count, "report")) could not be read")
    }
  }

  private func tell(_ faults: [(file: String, failure: Failure)]) {
    for fault in faults { Terminal.write("not read: \(fault.failure.message)\n") }
  }
}
