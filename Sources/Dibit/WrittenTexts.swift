internal import DibitFailure
package import DibitFiles
internal import DibitJSON
package import DibitTraining

/// A file of texts that a model wrote, a JSON object on each line. It grows while a job writes, and one that was stopped goes on behind them.
package struct WrittenTexts: ~Copyable {
  /// The texts that an earlier job wrote, behind which this one goes on.
  package private(set) var kept: [Synthesis.Text] = []
  /// Notes on how the file is gone on with.
  package private(set) var findings: [String] = []
  private let path: String
  private var file: ResumableFile?
  private var keptBytes = 0

  /// Looks at the file; nothing is created, written or cut before ``begin()``.
  ///
  /// - Parameter limit: The number of texts that are wanted.
  /// - Throws: as ``ResumableFile``, and when the file holds something else, or was begun with something else than `identity`.
  package init(at path: String, limit: Int, resumes: Bool, overwrites: Bool, inputs: JobInputs, identity: RunIdentity) throws {
    self.path = path
    let file = try ResumableFile(
      at: path, of: "synthesize", mark: OutputMark("a file of written texts", text: "\"attempt\":"), resumes: resumes,
      overwrites: overwrites, inputs: inputs, identity: identity)
    if file.isResumed {
      try read(limit)
      if !kept.isEmpty, let note = try file.checkIdentity("model, data and options") { findings.append(note) }
    }
    self.file = consume file
  }

  /// Reads the texts of an earlier job: all where they are as many as are wanted, and otherwise those up to its last attempt, which may have
  /// brought more and is made again.
  private mutating func read(_ limit: Int) throws {
    var (read, whole) = (0, 0)
    let bytes = try readFile(path, limit: 1 << 32)
    // Of what was torn in its first line only the beginning tells.
    guard zip(bytes, "{\"text\":\"".utf8).allSatisfy({ $0 == $1 }) else { throw unfit(by: "'dibit synthesize'", "choose another name") }
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast() {
      guard let row = try? JSONValue(parsing: line, depthLimit: 8), let text = row["text"]?.string, let label = row["label"]?.string,
        let attempt = row["attempt"]?.int, attempt >= kept.last?.attempt ?? 0
      else { throw unfit(by: "this job", "choose another name, or pass \(optionName("overwrite")) to begin anew") }
      if kept.last.map({ $0.attempt < attempt }) ?? true { (whole, keptBytes) = (kept.count, read) }
      kept.append(Synthesis.Text(text: text, label: label, attempt: attempt))
      read += line.count + 1
    }
    if kept.count < limit { kept.removeLast(kept.count - whole) } else { keptBytes = read }
  }

  private func unfit(by writer: String, _ advice: String) -> DibitError {
    DibitError(.invalidData, "'\(path)', line \(kept.count + 1): expected a text that \(writer) wrote; \(advice)")
  }

  /// Opens the file. The model was found to be whole.
  package mutating func begin() throws { try file?.begin(behind: keptBytes) }

  /// Adds the texts of an attempt.
  package mutating func append(_ texts: [Synthesis.Text]) throws { try file?.append(Self.lines(texts).span) }

  /// Waits until everything is on the disk.
  package func sync() throws { try file?.sync() }

  /// The lines of texts, as they stand in such a file.
  package static func lines(_ texts: [Synthesis.Text]) -> [UInt8] {
    let rows = texts.map { text -> JSONValue in
      ["text": .string(text.text), "label": .string(text.label), "attempt": .integer(text.attempt)]
    }
    return Array(rows.map { $0.serialized() + "\n" }.joined().utf8)
  }
}
