internal import DibitTensor
internal import Synchronization

/// Five-fold cross-validation on training texts, by which a baseline chooses its settings: one that nobody tuned is no baseline.
struct CrossValidation {
  private static let folds = 5

  private let labels: [Int]
  /// The fold of each text; nil for one that takes no part.
  private let folds: [Int?]

  /// Every fifth text makes a fold. A text that stands there several times, with a label each, is one text: learnt with one of its labels it
  /// must not be asked about for another.
  ///
  /// - Parameter share: one text in so many takes part.
  init(texts: [String], labels: [Int], share: Int = 1) {
    self.labels = labels
    var numbers: [String: Int] = [:]
    folds = texts.map { text in
      let number = numbers[text] ?? numbers.count
      numbers[text] = number
      return number % share == 0 ? number / share % Self.folds : nil
    }
  }

  /// Returns the number of the candidate that costs least in all folds together; the first of equals.
  ///
  /// - Parameters:
  ///   - threads: folds that are worked on at a time, at most; the result does not depend on it.
  ///   - costs: learns from some texts, asks about others, and returns what each of `candidates`, at least one, costs: mistakes, for instance.
  func best(of candidates: Int, threads: Int = 1, _ costs: (_ learnt: [Int], _ asked: [Int]) -> [Double]) -> Int {
    let found = Mutex([[Double]](repeating: [], count: Self.folds))
    ThreadPool(threads: min(max(threads, 1), Self.folds)).forEach(Self.folds) { fold, _ in
      let asked = folds.indices.filter { folds[$0] == fold }
      if asked.isEmpty { return }
      let costs = costs(folds.indices.filter { folds[$0] != nil && folds[$0] != fold }, asked)
      found.withLock { $0[fold] = costs }
    }
    // In the order of the folds: sums of fractions depend on it.
    var total = [Double](repeating: 0, count: candidates)
    for costs in found.withLock({ $0 }) where !costs.isEmpty {
      for candidate in total.indices { total[candidate] += costs[candidate] }
    }
    return total.indices.min { total[$0] < total[$1] } ?? 0
  }

  /// Counts those of the texts `asked` of which `row`, a row of log-probabilities, has another label highest than theirs.
  func mistakes(_ asked: [Int], _ row: (_ text: Int) -> [Double]) -> Int {
    asked.count { text in
      let row = row(text)
      return row.indices.max { row[$0] < row[$1] } != labels[text]
    }
  }
}
