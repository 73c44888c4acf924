internal import DibitCheckpoint
internal import DibitFiles
internal import DibitTokenizer

extension Dataset {
  /// Reads a dataset of any kind.
  ///
  /// - A folder of labelled texts, as ``scan(folder:options:)`` has it.
  /// - A file of rows: CSV, TSV or JSONL, told by its contents and its ending. All its rows are training examples.
  /// - A folder of such files. Those named train, validation (or valid, dev) and test are the splits; if none is, all files are training
  ///   examples.
  ///
  /// - Throws: ``DatasetError``; for the first row that is no example too, unless `rows.toleratesFaults`.
  package static func read(_ path: String, options: ScanOptions = ScanOptions(), rows: RowOptions = RowOptions()) throws(DatasetError)
    -> Dataset
  {
    let isFolder = try FolderWalk.isFolder(path)
    var scan = RowScan(root: path, rows: rows, report: ScanReport(limit: options.maximumPathsPerFinding))
    if isFolder {
      guard let files = try scan.files() else { return try .scan(folder: path, options: options) }
      for split in SplitName.allCases { for name in files[split] ?? [] { try scan.read(name, join(path, name), into: split) } }
    } else {
      let name = path.split(separator: "/").last.map(String.init) ?? path
      try scan.read(name, path, into: .train)
    }
    return try scan.dataset()
  }

  /// Checks whether a file is one of rows, as its ending tells, and these are conversations, as the first of them tells that is an example.
  package static func holdsConversations(_ path: String) -> Bool {
    switch TextInputOptions().rowFormat(of: path) {
    case .jsonLines:
      guard let stream = try? TextStream.open(path) else { return false }
      var reader = JSONLinesReader(stream, path: path, file: path, options: RowOptions())
      return kind(of: &reader) == .conversation
    case .delimited(let separator):
      guard
        let stream = try? TextStream.open(path),
        var reader = try? DelimitedReader.open(stream, path: path, file: path, separator: separator, options: RowOptions())
      else { return false }
      return kind(of: &reader) == .conversation
    case nil: return false
    }
  }

  /// The kind of the first row that is an example; nil where none is.
  private static func kind(of reader: inout some RowReader & ~Copyable) -> DatasetExample.Kind? {
    while true {
      do throws(DatasetError) { return try reader.next()?.kind } catch {
        guard case .row(_, _, _, let fault) = error else { return nil }
        // A text that nobody has labelled is no conversation.
        if case .unlabelled = fault { return .labelled }
      }
    }
  }

  /// Reads rows from memory, as if they were in a file called `name`.
  package static func read(bytes: [UInt8], named name: String, rows: RowOptions = RowOptions()) throws(DatasetError) -> Dataset {
    var scan = RowScan(root: name, rows: rows, report: ScanReport(limit: ScanOptions().maximumPathsPerFinding))
    try scan.read(name, name, try TextStream.open(bytes: bytes, named: name), into: .train)
    return try scan.dataset()
  }
}

/// One pass over files of rows.
private struct RowScan {
  let root: String
  let rows: RowOptions
  var report: ScanReport
  private var collectors: [SplitName: ExampleCollector] = [:]
  private var first: DatasetExample?
  /// The column or key of the label of a row that has none.
  private var labelKey: String?

  init(root: String, rows: RowOptions, report: ScanReport) {
    (self.root, self.rows, self.report) = (root, rows, report)
  }

  /// The files of rows in the folder by their splits; nil if it is a folder of labelled texts.
  mutating func files() throws(DatasetError) -> [SplitName: [String]]? {
    var (splits, others): ([SplitName: [String]], [String]) = ([:], [])
    var (folder, loose, hidden): (String?, [String], [String]) = (nil, [], [])
    for name in try FolderWalk.names(in: root) {
      guard name.utf8.first != UInt8(ascii: ".") else {
        hidden.append(name)
        continue
      }
      let (stem, ending) = RowFormat.parts(of: name)
      switch PathItem(join(root, name)) {
      case .folder, .linkToFolder: folder = folder ?? name
      case .file where RowFormat(ending: ending) == nil: loose.append(name)
      case .file:
        if let split = SplitName(fileStem: stem) {
          splits[split, default: []].append(name)
        } else if ending == "json" {
          loose.append(name)
        } else {
          others.append(name)
        }
      case .other, .unreachable, .missing: loose.append(name)
      }
    }
    for name in loose.sortedByBytes() where folder == nil && RowFormat.parts(of: name).ending == "parquet" {
      // Beside the same rows in another format it is only loose.
      let split = SplitName(fileStem: RowFormat.parts(of: name).stem)
      let isCovered = split.map { splits[$0] != nil } ?? !(splits.isEmpty && others.isEmpty)
      if !isCovered, FileKind.ofFile(join(root, name)) == .parquet { throw .parquet(path: join(root, name)) }
    }
    if splits.isEmpty {
      guard folder == nil, !others.isEmpty else { return nil }
      (splits[.train], others) = (others, [])
    } else {
      for split in SplitName.allCases { try checkOneSource(of: split, splits[split] ?? []) }
    }
    if let folder, let file = Array(splits.values.joined()).sortedByBytes().first {
      throw .rowsBesideFolders(folder: root, file: file, subfolder: folder)
    }
    for name in hidden { report.note(.hidden, name) }
    for name in (loose + others).sortedByBytes() { report.note(.loose, name) }
    return splits
  }

  /// Only parts of one file, which differ in their number, may make a split together.
  private func checkOneSource(of split: SplitName, _ files: [String]) throws(DatasetError) {
    guard let first = files.first else { return }
    func source(_ name: String) -> [Substring] {
      let (stem, ending) = RowFormat.parts(of: name)
      let parts = stem.split(separator: "-")
      return parts.count == 4 ? [parts[0], parts[3], ending[...]] : [name[...]]
    }
    for other in files.dropFirst() where source(other) != source(first) {
      throw .splitTwice(folder: root, split: split, first: first, second: other)
    }
  }

  /// Reads the rows of `file`, called `name` in their locations, into a split.
  mutating func read(_ name: String, _ file: String, into split: SplitName) throws(DatasetError) {
    try read(name, file, try TextStream.open(file), into: split)
  }

  mutating func read(_ name: String, _ file: String, _ stream: consuming TextStream, into split: SplitName) throws(DatasetError) {
    let start = try stream.start()
    switch RowFormat(name: name, start: start) {
    case .jsonLines:
      var reader = JSONLinesReader(stream, path: name, file: file, options: rows)
      try collect(&reader, name, into: split)
    case .delimited(let separator):
      var reader = try DelimitedReader.open(stream, path: name, file: file, separator: separator, options: rows)
      try collect(&reader, name, into: split)
    case nil:
      throw .unknownFormat(path: file)
    }
  }

  private mutating func collect(_ reader: inout some RowReader & ~Copyable, _ name: String, into split: SplitName) throws(DatasetError) {
    var collector = collectors.removeValue(forKey: split) ?? ExampleCollector()
    while true {
      do throws(DatasetError) {
        guard let example = try reader.next() else { break }
        report.rows += 1
        guard !example.isBlank else {
          report.note(.blankRow, example.location)
          continue
        }
        if let first, first.kind != example.kind {
          throw .mixedKinds(path: root, first: first.location, firstKind: first.kind, other: example.location, otherKind: example.kind)
        }
        first = first ?? example
        collector.add(example, report: &report)
      } catch {
        if case .row(_, let line, _, .unlabelled(let key, let text)) = error {
          report.rows += 1
          report.note(text.isBlank ? .blankRow : .unlabelledRow, "\(name):\(line)")
          if !text.isBlank { labelKey = labelKey ?? key }
          continue
        }
        guard rows.toleratesFaults, case .row(_, let line, let column, let fault) = error else { throw error }
        report.rows += 1
        report.note(.badRow, "\(name):\(line)" + (column.map { ":\($0)" } ?? ""), fault.description)
      }
    }
    if !reader.encoding.isUTF8 {
      let lost = reader.replacements == 0 ? "" : ", \(reader.replacements) without a character"
      report.note(.reencoded, name, reader.encoding.rawValue + lost)
    }
    collectors[split] = collector
  }

  consuming func dataset() throws(DatasetError) -> Dataset {
    report.compare(collectors.mapValues(\.examples))
    let dataset = Dataset(
      train: collectors[.train]?.examples ?? [], validation: collectors[.validation]?.examples ?? [],
      test: collectors[.test]?.examples ?? [], report: report)
    guard first != nil || labelKey != nil else { throw .noRows(path: root, skipped: report.skipped) }
    if dataset.kind == .labelled, dataset.labels.isEmpty { throw .noLabels(path: root, key: labelKey, rows: report.rows) }
    if dataset.kind == .labelled, dataset.labels.count == 1 {
      // What was left out may hold the other labels.
      throw .oneLabelInRows(
        path: root, label: dataset.labels[0], skipped: report[.badRow].count + report[.unlabelledRow].count > 0 ? report.skipped : "")
    }
    return dataset
  }
}

extension DatasetExample {
  /// True where there is nothing to read, or nothing to learn, but white space.
  var isBlank: Bool {
    switch self {
    case .labelled(let example): example.text.isBlank
    case .conversation(let conversation): conversation.answers.allSatisfy { conversation.messages[$0].content.isBlank }
    }
  }
}

/// The format of rows.
enum RowFormat: Equatable {
  case jsonLines
  /// Fields with a separator between them; nil when the first line is to tell.
  case delimited(separator: UInt8?)

  /// The format that a file's ending promises.
  init?(ending: String) {
    switch ending {
    case "csv": self = .delimited(separator: nil)
    case "tsv": self = .delimited(separator: UInt8(ascii: "\t"))
    case "jsonl", "ndjson", "json": self = .jsonLines
    default: return nil
    }
  }

  /// The format of a file that begins with `start`; nil for a text that is none.
  init?(name: String, start: [UInt8]) {
    let first = start.first { $0 != 0x20 && !(0x09...0x0D ~= $0) }
    if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
      self = .jsonLines
      return
    }
    if let promised = RowFormat(ending: Self.parts(of: name).ending) {
      self = promised
      return
    }
    let line = start.prefix { $0 != 0x0A }
    guard let separator = [UInt8(ascii: "\t"), UInt8(ascii: ","), UInt8(ascii: ";")].first(where: { line.contains($0) }) else { return nil }
    self = .delimited(separator: separator)
  }

  /// The name up to its last point, and what follows in small letters.
  static func parts(of name: String) -> (stem: String, ending: String) {
    guard let point = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return (name, "") }
    return (String(name[..<point]), name[name.index(after: point)...].lowercased())
  }
}
