internal import DibitFiles

/// Examples and their splits, from a folder of texts or from files of rows.
///
/// Use `read(_:options:rows:)` to read one from disk, then `splitAutomatically(seed:)` before training or `splitForEvaluation(seed:)`
/// before evaluating.
package struct Dataset: Sendable, Equatable {
  /// The examples to train on, in the order of the UTF-8 bytes of their paths, and of lines within a file.
  package internal(set) var train: [DatasetExample]
  /// The examples that training watches, in the same order.
  package internal(set) var validation: [DatasetExample]
  /// The examples to evaluate on, in the same order.
  package internal(set) var test: [DatasetExample]
  /// All labels of all splits in the order of their UTF-8 bytes; none for conversations.
  package let labels: [String]
  /// The findings of the reading.
  package let report: ScanReport
  /// True where `validation` was drawn from the training examples by `splitAutomatically(seed:)`.
  package internal(set) var hasAutomaticValidation = false

  /// A dataset of labelled texts in memory; sorts each split by path.
  package init(train: [LabelledExample], validation: [LabelledExample] = [], test: [LabelledExample] = []) {
    self.init(
      train: train.map { .labelled($0) }, validation: validation.map { .labelled($0) }, test: test.map { .labelled($0) },
      report: ScanReport(limit: 0))
  }

  init(train: [DatasetExample], validation: [DatasetExample], test: [DatasetExample], report: ScanReport) {
    self.train = train.sortedByLocation()
    self.validation = validation.sortedByLocation()
    self.test = test.sortedByLocation()
    self.report = report
    labels = Self.labels(of: [train, validation, test])
  }

  /// The kind of the dataset's examples; labelled texts when there is nothing in it.
  package var kind: DatasetExample.Kind { (train.first ?? validation.first ?? test.first)?.kind ?? .labelled }

  /// The labelled texts of a split; none if it holds conversations.
  package func labelled(_ split: SplitName) -> [LabelledExample] {
    self[split].compactMap { if case .labelled(let example) = $0 { example } else { nil } }
  }

  /// The number of texts in a split to which no label applies.
  package func unlabelledCount(_ split: SplitName) -> Int { labelled(split).count { $0.labels.isEmpty } }

  /// The dataset without the texts to which no label applies: for answers that are a single label.
  package func leavingOutUnlabelled() -> Dataset {
    guard kind == .labelled else { return self }
    var rest = self
    rest.train.removeAll { $0.labels.isEmpty }
    rest.validation.removeAll { $0.labels.isEmpty }
    rest.test.removeAll { $0.labels.isEmpty }
    return rest
  }

  /// All labels in the order of their bytes.
  static func labels(of splits: [[DatasetExample]]) -> [String] {
    var seen: Set<[UInt8]> = []
    for split in splits {
      for case .labelled(let example) in split { for label in example.labels { seen.insert(Array(label.utf8)) } }
    }
    return seen.map { String(decoding: $0, as: UTF8.self) }.sortedByBytes()
  }

  /// The examples of a split.
  package subscript(split: SplitName) -> [DatasetExample] {
    switch split {
    case .train: train
    case .validation: validation
    case .test: test
    }
  }

  /// The index of a label in `labels`, compared by UTF-8 bytes; nil if no example has it.
  ///
  /// `labels.firstIndex(of:)` would take an "é" of one scalar and one of two for the same label.
  package func index(ofLabel label: String) -> Int? {
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
  /// adds its location, NUL, each label and NUL, the digest of its text and LF. A location is the path, or for a row the path, a colon and the line.
  package var digest: String { Self.digest(of: (train + validation + test).sortedByLocation()) }

  /// SHA-256 of the examples of one split, in the same form as `digest`.
  package func digest(of split: SplitName) -> String { Self.digest(of: self[split]) }

  private static func digest(of examples: [DatasetExample]) -> String {
    var hash = SHA256()
    for example in examples {
      var record = Array(example.location.utf8)
      for label in example.labels {
        record.append(0)
        record.append(contentsOf: label.utf8)
      }
      record.append(0)
      record.append(contentsOf: example.digest.hexadecimal)
      record.append(0x0A)
      hash.update(record)
    }
    return hash.finalize()
  }
}
