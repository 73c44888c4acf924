internal import DibitDataset
internal import DibitJSON
internal import DibitReport
internal import Glibc

/// The form of written predictions: the text before them, between them, behind them, and for each.
package struct PredictionFormat: Equatable, Sendable {
  /// The forms.
  package enum Kind: String, Equatable, Sendable, CaseIterable {
    /// A line with location, tags and probability between tabs. Inputs without a prediction are left out.
    case text
    /// RFC 4180 with a header; tags are joined by semicolons. Inputs without a prediction are left out.
    case csv
    /// A JSON object on each line; inputs without a prediction have an error instead.
    case jsonl
    /// An array of such objects.
    case json
  }

  /// The form.
  package var kind: Kind
  /// The labels, in the order of every index.
  package var labels: [String]
  /// The key of the tags in JSON: that of the task.
  package var key: String
  /// True where the probabilities of all labels are written.
  package var hasScores: Bool
  /// True where an answer may have several labels: then a label's probability is that of being in the answer.
  package var severalLabels: Bool

  /// A form for these labels.
  package init(_ kind: Kind, labels: [String], key: String, hasScores: Bool = false, severalLabels: Bool = false) {
    (self.kind, self.labels, self.key) = (kind, labels, key)
    (self.hasScores, self.severalLabels) = (hasScores, severalLabels)
  }

  /// The text before the first prediction, with its line end.
  package var header: String {
    switch kind {
    case .text, .jsonl: ""
    case .csv: CSV.record(columns)
    case .json: "["
    }
  }

  /// Returns the text behind the last one.
  package func footer(isEmpty: Bool) -> String { kind == .json ? (isEmpty ? "]\n" : "\n]\n") : "" }

  /// Returns the text for an input, with its line end; empty for one that this form leaves out.
  ///
  /// - Parameters:
  ///   - isFirst: whether nothing but ``header`` stands before it.
  ///   - sentence: what is said of an input without a prediction.
  package func record(
    _ prediction: InputPrediction, isFirst: Bool, sentence: (PredictionFault) -> String = { "\($0)" }
  ) -> String {
    switch kind {
    case .text:
      guard let result = try? prediction.result.get() else { return "" }
      let tags = result.tags.isEmpty ? "-" : result.tags.joined(separator: ";")
      return "\(Self.escaped(prediction.location.description))\t\(tags)\t\(fixed(probabilities(result)[result.scores.best], 3))\n"
    case .csv:
      guard let result = try? prediction.result.get() else { return "" }
      let probabilities = probabilities(result)
      let numbers = [probabilities[result.scores.best]] + (hasScores ? probabilities : [])
      return CSV.record(
        [prediction.location.description, result.label, result.tags.joined(separator: ";")]
          + numbers.map { JSONValue.number($0).serialized() }
      )
    case .jsonl: return object(prediction, sentence).serialized() + "\n"
    case .json:
      // The lines of an array of one without its brackets: as a whole array has them.
      let lines = JSONValue.array([object(prediction, sentence)]).serialized(pretty: true).split(
        separator: "\n", omittingEmptySubsequences: false)
      return (isFirst ? "\n" : ",\n") + lines.dropFirst().dropLast().joined(separator: "\n")
    }
  }

  /// The names of the columns of CSV.
  var columns: [String] { ["path", "label", "tags", "probability"] + (hasScores ? labels : []) }

  // MARK: Parts

  private func probabilities(_ result: TextPrediction) -> [Double] {
    severalLabels ? result.scores.inclusion : result.scores.logProbabilities.map { exp($0) }
  }

  private func object(_ prediction: InputPrediction, _ sentence: (PredictionFault) -> String) -> JSONValue {
    var object = JSONObject()
    object["file"] = .string(prediction.location.file)
    if prediction.location.line > 0 { object["line"] = .integer(prediction.location.line) }
    switch prediction.result {
    case .failure(let fault): object["error"] = .string(sentence(fault))
    case .success(let result):
      let probabilities = probabilities(result)
      object[key] = .array(result.tags.map { .string($0) })
      object["probability"] = .number(probabilities[result.scores.best])
      object["truncated_tokens"] = .integer(result.scores.truncatedTokens)
      // Tagged by the prompt alone.
      if result.scores.isEmpty { object["empty"] = true }
      if hasScores { object["scores"] = .object(JSONObject(zip(labels, probabilities).map { (key: $0, value: .number($1)) })) }
    }
    return .object(object)
  }

  /// A location on one line, in which tabs, line ends and what a terminal could take for a command are spelled out.
  static func escaped(_ location: String) -> String {
    var result = ""
    for scalar in location.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\t": result += "\\t"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      default:
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
        default: result.unicodeScalars.append(scalar)
        }
      }
    }
    return result
  }
}
