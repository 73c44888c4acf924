internal import DibitCheckpoint
internal import DibitFiles
internal import DibitTensor

extension Dataset {
  /// Reads the labelled texts of a folder.
  ///
  /// Two layouts are known: `<folder>/<label>/<file>`, and `<folder>/<split>/<label>/<file>` where a split is `train`, `test` or one of
  /// `validation`, `valid` and `dev`, in any case of letters. Files may lie in further folders below a label. The result does not depend on
  /// the order in which the file system lists names.
  ///
  /// - Throws: `DatasetError` if the folder as a whole cannot be used; what is wrong with single files is told by `report`.
  package static func scan(folder: String, options: ScanOptions = ScanOptions()) throws(DatasetError) -> Dataset {
    guard try FolderWalk.isFolder(folder) else { throw .notAFolder(path: folder) }
    var scanner = LabelledScanner(walk: FolderWalk(root: folder, options: options))
    let dataset = try scanner.scan()
    guard let first = dataset.labels.first else {
      if let table = scanner.table { throw .parquet(path: table) }
      throw .noLabelledText(folder: folder, skipped: dataset.report.skipped)
    }
    guard dataset.labels.count > 1 else {
      // What could not be read may hold the other labels.
      let skipped = dataset.report[.unreadable].count > 0 ? dataset.report.skipped : ""
      throw .singleLabel(folder: folder, label: first, skipped: skipped)
    }
    return dataset
  }
}

/// One scan of a labelled folder.
private struct LabelledScanner {
  let walk: FolderWalk
  var report: ScanReport
  /// The first file in Parquet that was left out.
  private(set) var table: String?

  init(walk: FolderWalk) {
    self.walk = walk
    report = ScanReport(limit: walk.options.maximumPathsPerFinding)
  }

  mutating func scan() throws(DatasetError) -> Dataset {
    let folders = try folders(in: "")
    var splits: [SplitName: String] = [:]
    var firstLabel: String?
    for name in folders {
      guard let split = SplitName(folder: name) else {
        firstLabel = firstLabel ?? name
        continue
      }
      if let first = splits[split] { throw .splitTwice(folder: walk.root, split: split, first: first, second: name) }
      splits[split] = name
    }
    if let firstLabel, let splitFolder = folders.first(where: { SplitName(folder: $0) != nil }) {
      throw .mixedLayout(folder: walk.root, splitFolder: splitFolder, labelFolder: firstLabel)
    }
    if splits.isEmpty { splits[.train] = "" }
    var examples: [SplitName: [DatasetExample]] = [:]
    for split in SplitName.allCases {
      guard let folder = splits[split] else { continue }
      examples[split] = try read(split: folder, labels: folder.isEmpty ? folders : self.folders(in: folder))
    }
    report.compare(examples)
    return Dataset(
      train: examples[.train] ?? [], validation: examples[.validation] ?? [], test: examples[.test] ?? [], report: report)
  }

  /// The names of the folders in a folder that may be splits or labels; files beside them are counted.
  private mutating func folders(in path: String) throws(DatasetError) -> [String] {
    var folders: [String] = []
    for name in try walk.visibleNames(in: path, report: &report) {
      let entry = FolderWalk.path(name, in: path)
      switch walk.item(at: entry) {
      case .folder: folders.append(name)
      case .linkToFolder: report.note(.linkedFolder, entry)
      case .file:
        report.note(.loose, entry)
        if entry.hasSuffix(".parquet") { noteTable(entry) }
      case .other: report.note(.loose, entry)
      case .unreachable(let reason): report.note(unreadable: entry, reason)
      case .missing: throw .badLabel(folder: walk.absolute(path), label: name)
      }
    }
    return folders
  }

  /// The examples of a split; equal texts become one.
  private mutating func read(split: String, labels: [String]) throws(DatasetError) -> [DatasetExample] {
    var collector = ExampleCollector()
    for label in labels {
      guard label.unicodeScalars.allSatisfy(\.isLineSafe) else { throw .badLabel(folder: walk.absolute(split), label: label) }
      let folder = FolderWalk.path(label, in: split)
      var hasText = false
      let files: [FoundFile]
      do throws(DatasetError) { files = try walk.files(below: folder, report: &report) } catch {
        report.note(unreadable: folder, error)
        continue
      }
      for file in files {
        guard let text = read(file) else { continue }
        hasText = true
        collector.add(.labelled(LabelledExample(path: file.path, text: text, labels: [label])), report: &report)
      }
      if !hasText { report.note(.emptyLabel, folder) }
    }
    return collector.examples
  }

  /// The text of a file, or nil if the report says why there is none.
  private mutating func read(_ file: FoundFile) -> String? {
    guard file.bytes <= walk.options.maximumFileBytes else {
      noteTable(file.path)
      report.note(.overLong, file.path, ScanOptions.excess(file.bytes, limit: walk.options.maximumFileBytes))
      return nil
    }
    let data: Bytes
    do throws(DatasetError) {
      data = try FolderWalk.bytes(of: walk.absolute(file.path))
    } catch {
      report.note(unreadable: file.path, error)
      return nil
    }
    guard let decoded = TextDecoding.decode(data.bytes) else {
      report.note(.binary, file.path)
      noteTable(file.path)
      return nil
    }
    return report.accept(decoded, of: file.path) ? decoded.text : nil
  }

  private mutating func noteTable(_ entry: String) {
    let path = walk.absolute(entry)
    if table == nil, FileKind.ofFile(path) == .parquet { table = path }
  }
}

extension ScanReport {
  /// Counts a decoded file; false, with a finding, if there is nothing in it.
  mutating func accept(_ decoded: DecodedText, of path: String) -> Bool {
    guard !decoded.isBlank else {
      note(.empty, path)
      return false
    }
    textFiles += 1
    if !decoded.encoding.isUTF8 {
      let lost = decoded.replacements == 0 ? "" : ", \(decoded.replacements) without a character"
      note(.reencoded, path, decoded.encoding.rawValue + lost)
    }
    return true
  }
}

extension DecodedText {
  /// True where there is nothing but white space and byte order marks.
  var isBlank: Bool { text.isBlank }
}

extension String {
  /// True where there is nothing but white space and byte order marks.
  var isBlank: Bool { unicodeScalars.allSatisfy { $0.properties.isWhitespace || $0 == "\u{FEFF}" } }
}
