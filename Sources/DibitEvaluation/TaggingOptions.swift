package import DibitTokenizer

/// How many labels an answer has, and how they are chosen.
package enum TagSelection: Equatable, Sendable {
  /// One: the most likely label when the answer must be one of them.
  case one
  /// Up to `most`, chosen one after the other: see ``TextScores/chosen``.
  case several(most: Int)

  /// The most labels of an answer.
  var most: Int {
    switch self {
    case .one: 1
    case .several(let most): max(1, most)
    }
  }
}

/// How texts are scored.
package struct TaggingOptions: Equatable, Sendable {
  /// What texts lose that are too long.
  package var cut = TextShortening.tail
  /// Whether one label is chosen or several.
  package var selection = TagSelection.one
  /// Whether the labels' log-probabilities behind an empty text are taken off, so that a label is not preferred whatever the text says
  /// (contextual calibration: Zhao et al., "Calibrate before use", 2021).
  package var calibrates = false
  /// Rows of a pass of the model. Results do not depend on it.
  package var rows = 512

  /// One label, long texts lose their end, no calibration.
  package init() {}
}
