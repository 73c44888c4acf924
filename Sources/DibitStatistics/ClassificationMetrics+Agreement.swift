internal import RealModule

extension ClassificationMetrics {
  /// The mean recall of labels that have examples: accuracy as if every label were equally frequent.
  package var balancedAccuracy: Double {
    let occurring = perLabel.filter { $0.support > 0 }
    return occurring.isEmpty ? 0 : occurring.reduce(0) { $0 + $1.recall } / Double(occurring.count)
  }

  /// Cohen's kappa: agreement beyond what the frequencies of labels give by chance, 1 at best.
  ///
  /// `(p₀ - pₑ) / (1 - pₑ)` with `pₑ = Σ support · predicted / n²`. 0 where chance alone would agree fully, as with a single label.
  /// Source: Cohen, "A coefficient of agreement for nominal scales" (1960).
  package var cohenKappa: Double {
    guard count > 0 else { return 0 }
    let n = Double(count)
    let chance = zip(perLabel, predicted).reduce(0) {
      $0 + Double($1.0.support) / n * (Double($1.1) / n)
    }
    return chance < 1 ? (accuracy - chance) / (1 - chance) : 0
  }

  /// The correlation of truth and prediction (Matthews' coefficient for several labels), 0 where either never changes.
  ///
  /// `(c n - Σ pₖ tₖ) / √((n² - Σ pₖ²)(n² - Σ tₖ²))` with `c` hits, `pₖ` predictions and `tₖ` examples of label k.
  /// Source: Gorodkin, "Comparing two K-category assignments by a K-category correlation coefficient" (2004).
  package var matthewsCorrelation: Double {
    let n = Double(count)
    var (both, predictions, truths) = (0.0, 0.0, 0.0)
    for (metrics, predicted) in zip(perLabel, predicted) {
      both += Double(predicted) * Double(metrics.support)
      predictions += Double(predicted) * Double(predicted)
      truths += Double(metrics.support) * Double(metrics.support)
    }
    let spread = (n * n - predictions) * (n * n - truths)
    return spread > 0 ? (Double(hits) * n - both) / .sqrt(spread) : 0
  }
}
