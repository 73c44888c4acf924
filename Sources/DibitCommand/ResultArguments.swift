internal import ArgumentParser
internal import DibitCheckpoint
internal import DibitDigest
internal import DibitJSON
internal import DibitReport

/// Where the result of an evaluation goes.
struct ResultArguments: ParsableArguments {
  @Flag(help: "Print the report as JSON.") var json = false
  @Flag(help: "Put mistakes with their texts into the JSON too.") var samples = false
  @Option(help: ArgumentHelp("Write the report as a page for a browser; an earlier report there is replaced.", valueName: "file.html"))
  var report: String?
  @Flag(help: "Keep the texts of mistakes out of the page.") var withoutTexts = false
  @Option(
    help: ArgumentHelp("Also keep the report as a file of its own in this folder, for 'dibit report'.", valueName: "folder"))
  var runs: String?

  /// Whether the report needs texts.
  var keepsTexts: Bool { samples || report != nil && !withoutTexts }

  /// Finds what cannot be written.
  func check() throws {
    if let report {
      try checkReplaceable(report)
      let parent = report.lastIndex(of: "/").map { $0 == report.startIndex ? "/" : String(report[..<$0]) } ?? "."
      guard isDirectory(parent) else { throw Failure(.cannotCreate, "'\(report)': its directory does not exist; create it first") }
      let file = try StagedFile(destination: report, overwrite: true)
      try writeFileAtomically(path: file.path, bytes: [])
    }
    if let runs { try makeDirectory(runs) }
  }

  /// A page that this command did not make is not replaced by one that it makes.
  private func checkReplaceable(_ path: String) throws {
    guard let bytes = try? readFile(path, limit: 256 << 20) else { return }
    guard String(decoding: bytes.prefix(4096), as: UTF8.self).contains(HTMLReport.generator) else {
      throw Failure(.cannotCreate, "'\(path)' exists and is no report of an earlier evaluation: remove it or choose another name")
    }
  }

  func write(_ report: EvaluationReport) throws {
    if let path = self.report {
      try writeFileAtomically(path: path, bytes: Array(HTMLReport(withoutTexts ? report.withoutTexts : report).html.utf8), overwrite: true)
    }
    let plain = samples ? report : report.withoutTexts
    if let runs {
      let bytes = Array((plain.json.serialized(pretty: true) + "\n").utf8)
      let name = ReportDate.fileName(seconds: WallClock.now, digest: SHA256.digest(bytes))
      try writeFileAtomically(path: runs + "/" + name, bytes: bytes)
      Terminal.write("kept as \(runs)/\(name)\n")
    }
    if json {
      printJSON(plain.json)
    } else {
      show(report)
    }
    if let path = self.report { Terminal.wrote(path) }
  }
}

/// Prints a report: on one screen of a terminal, whole where nobody scrolls.
func show(_ report: EvaluationReport) {
  let size = StandardOutput.size
  for line in TerminalReport(report, width: min(size?.columns ?? 100, 140), height: size?.rows ?? 500).lines { Output.print(line) }
  if size == nil { for note in report.notes { Output.print("note: \(note.text)") } }
}

extension EvaluationReport {
  /// The same without the texts of mistakes.
  fileprivate var withoutTexts: EvaluationReport {
    var report = self
    for place in report.runs.indices { report.runs[place].samples = [] }
    for place in report.baselines.indices { report.baselines[place].samples = [] }
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
