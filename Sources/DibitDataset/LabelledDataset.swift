internal import DibitDigest

/// The texts of a folder, their labels and their splits.
///
/// Use `scan(folder:options:)` to read one from disk, then `splitAutomatically(seed:)` before training or `splitForEvaluation(seed:)`
/// before evaluating.
public struct LabelledDataset: Sendable, Equatable {
  /// The examples to train on, in the order of the UTF-8 bytes of their paths.
  public internal(set) var train: [LabelledExample]
  /// The examples that training watches, in the same order.
  public internal(set) var validation: [LabelledExample]
  /// The examples to evaluate on, in the same order.
  public internal(set) var test: [LabelledExample]
  /// All labels of all splits in the order of their UTF-8 bytes.
  public let labels: [String]
  /// What the scan noticed.
  public let report: ScanReport
  /// Whether `validation` was drawn from the training examples by `splitAutomatically(seed:)`.
  public internal(set) var hasAutomaticValidation = false

  /// A dataset of examples in memory; sorts each split by path.
  public init(train: [LabelledExample], validation: [LabelledExample] = [], test: [LabelledExample] = []) {
    self.init(train: train, validation: validation, test: test, report: ScanReport(limit: 0))
  }

  init(train: [LabelledExample], validation: [LabelledExample], test: [LabelledExample], report: ScanReport) {
    self.train = train.sortedByPath()
    self.validation = validation.sortedByPath()
    self.test = test.sortedByPath()
    self.report = report
    labels = (train + validation + test).flatMap(\.labels).distinctByBytes()
  }

  /// The examples of a split.
  public subscript(split: SplitName) -> [LabelledExample] {
    switch split {
    case .train: train
    case .validation: validation
    case .test: test
    }
  }

  /// The place of a label in `labels`, compared by UTF-8 bytes; nil if no example has it.
  ///
  /// `labels.firstIndex(of:)` would take an "é" of one scalar and one of two for the same label.
  public func index(ofLabel label: String) -> Int? {
    var range = 0..<labels.count
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      if labels[middle].precedesInBytes(label) {
        range = middle + 1..<range.upperBound
      } else if label.precedesInBytes(labels[middle]) {
        range = range.lowerBound..<middle
      } else {
        return middle
      }
    }
    return nil
  }

  /// SHA-256 of all examples in the order of their paths: the identity of the data, as 64 hexadecimal digits.
  ///
  /// It does not depend on how the examples are split, so that it is the same before and after `splitAutomatically(seed:)`. Each example
  /// adds its path, NUL, each label and NUL, the digest of its text and LF.
  public var digest: String { Self.digest(of: (train + validation + test).sortedByPath()) }

  /// SHA-256 of the examples of one split, in the same form as `digest`.
  public func digest(of split: SplitName) -> String { Self.digest(of: self[split]) }

  private static func digest(of examples: [LabelledExample]) -> String {
    var hash = SHA256()
    for example in examples {
      var record = Array(example.path.utf8)
      for label in example.labels {
        record.append(0)
        record.append(contentsOf: label.utf8)
      }
      record.append(0)
      record.append(contentsOf: example.digest.utf8)
      record.append(0x0A)
      hash.update(record)
    }
    return hash.finalize()
  }
}

extension [LabelledExample] {
  /// The examples in the order of the UTF-8 bytes of their paths.
  func sortedByPath() -> [LabelledExample] { sorted { $0.path.precedesInBytes($1.path) } }
}
