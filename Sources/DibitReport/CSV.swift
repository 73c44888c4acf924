internal import DibitStatistics

/// Comma-separated values as RFC 4180 has them, with line feeds.
package enum CSV {
  /// A record with its line end: fields with separators, quotes or line ends are in quotes, and those that begin with a space.
  package static func record(_ fields: [String]) -> String {
    let special = Set(",;\"\n\r\t".utf8)
    let quoted = fields.map { field in
      field.utf8.contains { special.contains($0) } || field.hasPrefix(" ") ? "\"" + field.replacing("\"", with: "\"\"") + "\"" : field
    }
    return quoted.joined(separator: ",") + "\n"
  }
}

extension EvaluationReport {
  /// The header of a table of confusions.
  package static let confusionColumns = ["run", "kind", "truth", "prediction", "texts"]

  /// The confusion matrices of all runs and baselines as CSV: a record for each run, true label and predicted label, with zeros.
  package var confusionCSV: String {
    var text = CSV.record(Self.confusionColumns)
    for run in everything {
      for (truth, row) in run.metrics.confusion.enumerated() {
        for (prediction, count) in row.enumerated() {
          text += CSV.record([run.name, run.kind.rawValue, labels[truth], labels[prediction], "\(count)"])
        }
      }
    }
    return text
  }
}
