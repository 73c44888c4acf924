internal import ArgumentParser
internal import DibitFiles

struct TraceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trace",
    abstract: "Show what took time in sessions of an app.",
    discussion: """
      Example: DIBIT_TRACE=trace.jsonl ./my-app; dibit trace trace.jsonl
      Example: dibit trace trace.jsonl --session 3F2A91C0

      An app that uses the library FoundationModels writes a trace where DIBIT_TRACE names a file: when the model was opened, what was read ahead, \
      and of each turn how many tokens were read and made, which tools were called, and how long it took. A trace holds nothing that was said.
      """)

  @Argument(help: ArgumentHelp("The trace.", valueName: "file")) var file: String
  @Option(help: ArgumentHelp("Show one session alone.", valueName: "id")) var session: String?

  /// Far above what an app writes in a day.
  private static let largest = 1 << 30

  func run() throws {
    let text = String(decoding: try readFile(file, limit: Self.largest), as: UTF8.self)
    let timeline = try TraceTimeline(text, file: file)
    let lines = timeline.lines(ofSession: session)
    guard !lines.isEmpty else {
      throw Failure(.badData, "'\(file)': \(session.map { "the session '\($0)' expected" } ?? "events expected"), found none")
    }
    for line in lines { Output.print(line) }
  }
}
