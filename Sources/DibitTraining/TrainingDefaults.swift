internal import DibitModel

extension TrainingOptions {
  /// The most passes over few texts: behind that an adapter learns them by heart.
  private static let mostEpochs = 10
  /// Visits of each label that are wanted, and the most labels that they are counted for.
  private static let visits = (ofLabel: 45, labels: 150)

  /// The options of which nobody says anything, from the size of the model and the numbers of examples and labels.
  ///
  /// The peak rate falls with the square root of the model's size, from 1e-3 at 110 million weights: the line on which the rates
  /// of the recipes for 14 million to 3 billion weights lie. Passes are as many as 120 steps take, or as
  /// many as it takes to see each of up to 150 labels 45 times, but 3 at least, or 2 of many texts. The update is not scaled.
  ///
  /// - Parameters:
  ///   - weights: The weights of the model, all of them.
  ///   - examples: Training examples, with those that are held out of them.
  ///   - labels: The labels of the examples; 0 where they have none.
  package init(weights: Int, examples: Int, labels: Int) {
    self.init()
    let rate = 1e-3 * (110e6 / Double(max(weights, 1))).squareRoot()
    optimization.learningRate = Self.rounded(min(max(rate, 5e-5), 4e-3))
    let visits = max(120 * batchSize, Self.visits.ofLabel * min(labels, Self.visits.labels))
    let wanted = (visits + max(examples, 1) - 1) / max(examples, 1)
    epochs = min(max(wanted, examples < 3000 ? 3 : 2), Self.mostEpochs)
    adapter.rank = 16
    adapter.alpha = 16
  }

  /// A rate with two significant digits, as people write it.
  private static func rounded(_ rate: Double) -> Float {
    var (digits, exponent) = (rate, 0)
    while digits < 10 { (digits, exponent) = (digits * 10, exponent - 1) }
    return Float("\(Int(digits.rounded()))e\(exponent)") ?? Float(rate)
  }
}
