package import DibitTokenizer

/// The selection of labels for an answer: their number, and the way in which they are chosen.
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

/// The options with which texts are scored.
package struct TaggingOptions: Equatable, Sendable {
  /// The part that texts lose that are too long.
  package var cut = TextShortening.tail
  /// The choice of one label or of several.
  package var selection = TagSelection.one
  /// True to take off the labels' log-probabilities behind an empty text, so that a label is not preferred whatever the text says
  /// (contextual calibration: Zhao et al., "Calibrate before use", 2021).
  package var calibrates = false
  /// Rows of a pass of the model. Results do not depend on it.
  package var rows = 512

  /// One label, long texts lose their end, no calibration.
  package init() {}
}
