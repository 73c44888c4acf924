/// The parts of a dataset.
package enum SplitName: String, Equatable, Sendable, CaseIterable {
  /// The examples to which the weights are fitted.
  case train
  /// The examples that training watches to see whether it still helps.
  case validation
  /// The examples that nothing but the final evaluation sees.
  case test

  /// The split that a folder's name means, in any case of letters; nil for every other name.
  init?(folder: String) {
    switch folder.lowercased() {
    case "train": self = .train
    case "validation", "valid", "dev": self = .validation
    case "test": self = .test
    default: return nil
    }
  }

  /// The split that a file of rows belongs to by its name without ending; numbered parts such as "train-00000-of-00002" count too.
  init?(fileStem stem: String) {
    let parts = stem.split(separator: "-", omittingEmptySubsequences: false)
    let isPart = parts.count == 4 && parts[2] == "of" && [parts[1], parts[3]].allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isNumber) }
    self.init(folder: isPart ? String(parts[0]) : stem)
  }
}

/// The sizes of the splits and where they come from.
package struct SplitSummary: Equatable, Sendable {
  /// The number of training examples.
  package let train: Int
  /// The number of validation examples.
  package let validation: Int
  /// The number of test examples.
  package let test: Int
  /// The splits that were drawn by `splitAutomatically(seed:)` instead of given.
  package let automatic: [SplitName]

  /// A summary of given sizes.
  package init(train: Int, validation: Int, test: Int, automatic: [SplitName]) {
    self.train = train
    self.validation = validation
    self.test = test
    self.automatic = automatic
  }
}

extension Dataset {
  /// The sizes of the splits as they are now.
  package var splitSummary: SplitSummary {
    SplitSummary(
      train: train.count, validation: validation.count, test: test.count, automatic: hasAutomaticValidation ? [.validation] : [])
  }

  /// Draws a validation split from the training examples if there is none: under 50 examples none, from 50 on 10 %, from 200 on 5 %,
  /// rounded to the nearest whole number.
  ///
  /// The draw is stratified by an example's first label. A label with at least two examples gives its share by largest remainder and
  /// keeps one at least. Which examples are drawn depends on the seed and on their texts alone, not on file names, the order of the file
  /// system, or earlier draws. Adding a text to the folder can therefore move only a few examples to the other side.
  ///
  /// There is never an automatic test split: a folder that small has nothing to spare. Calling it again changes nothing.
  @discardableResult
  package mutating func splitAutomatically(seed: UInt64) -> SplitSummary {
    guard validation.isEmpty else { return splitSummary }
    let size = Self.automaticValidationSize(trainingCount: train.count)
    guard size > 0 else { return splitSummary }
    let drawn = StratifiedDraw(seed: seed).indices(of: train, size: size)
    validation = train.indices.filter { drawn.contains($0) }.map { train[$0] }
    train = train.indices.filter { !drawn.contains($0) }.map { train[$0] }
    hasAutomaticValidation = !validation.isEmpty
    return splitSummary
  }

  /// Returns the number of `trainingCount` examples that an automatic validation split asks for.
  package static func automaticValidationSize(trainingCount: Int) -> Int {
    switch trainingCount {
    case ..<50: 0
    case ..<200: (trainingCount + 5) / 10
    default: (trainingCount + 10) / 20
    }
  }

  /// The split to evaluate on: the test split, else the validation split, else the training examples, which the model has seen.
  package var evaluationSplit: (name: SplitName, examples: [DatasetExample]) {
    if !test.isEmpty { return (.test, test) }
    if !validation.isEmpty { return (.validation, validation) }
    return (.train, train)
  }

  /// Splits as training with the same seed did, and returns what to evaluate on.
  ///
  /// For a folder without splits this is the validation part that training held out, provided that the folder did not change since:
  /// compare `digest` with the one that training recorded. With fewer than 50 texts there is no such part and the name is `train`; say so
  /// next to the score.
  package mutating func splitForEvaluation(seed: UInt64) -> (name: SplitName, examples: [DatasetExample]) {
    splitAutomatically(seed: seed)
    return evaluationSplit
  }
}
