/// A comparison of models as a page for a browser. Every text of it is escaped.
package struct ModelComparisonPage: Sendable {
  private let comparison: ModelComparison

  /// Matrices that are listed of each model.
  private static let worst = 12
  private static let command = "compare"
  /// The mark that tells these pages from others.
  package static let generator = HTMLPage.generator(command)

  /// A page that shows a comparison.
  package init(_ comparison: ModelComparison) { self.comparison = comparison }

  /// The page; equal comparisons give equal bytes.
  package var html: String {
    let names = comparison.entries.map { "'\($0.form.name)'" }.joined(separator: ", ")
    let header =
      "<h1>\(headline.html)</h1>\n<p class=\"verdict\">\(names.html), each beside '\(comparison.reference.name.html)' on "
      + "\(comparison.text.html).</p>\n"
    return HTMLPage(
      command: Self.command, title: "Comparison with \(comparison.reference.name)", header: header,
      sections: [
        (id: "models", title: "Models", body: models), (id: "continuations", title: "Continuations", body: continuations),
        (id: "tensors", title: "Matrices that lost most", body: tensors),
      ].filter { !$0.body.isEmpty }
    ).html
  }

  private var headline: String {
    guard let best = comparison.entries.min(by: { $0.divergence < $1.divergence }) else { return "" }
    let of = comparison.entries.count > 1 ? "The nearest" : "The model"
    return "\(of) says the same next token as the reference \(percent(best.agreement)) of the time"
  }

  private var models: String {
    var text =
      "<p class=\"lead\">Divergence is how far the probabilities of the next token are from the reference's, in nats; the same token is how often "
      + "both find the same one most likely. Signal over noise counts each input of a matrix by its energy on the text.</p>\n"
    text += "<div class=\"scroll\" role=\"region\" aria-label=\"Models\" tabindex=\"0\"><table><thead><tr>"
    text += Self.heads(["Model", "Size", "Bits/weight", "Perplexity", "Ratio", "Divergence", "99 %", "Same token", "Signal/noise"])
    text += "</tr></thead><tbody>\n"
    let reference = comparison.reference
    text += Self.row(
      reference.name,
      [megabytes(reference.bytes), fixed(reference.bitsPerWeight, 2), perplexity(reference.perplexity), "1", "0", "0", "100 %", "–"])
    for entry in comparison.entries {
      text += Self.row(
        entry.form.name,
        [
          megabytes(entry.form.bytes), fixed(entry.form.bitsPerWeight, 2), perplexity(entry.form.perplexity),
          perplexity(comparison.ratio(entry)),
          "\(fixed(entry.divergence, 3)) ± \(fixed(entry.standardError, 3))", fixed(entry.percentile99, 2), percent(entry.agreement),
          entry.decibels.map(decibels) ?? "–",
        ])
    }
    return text + "</tbody></table></div>\n"
  }

  private var continuations: String {
    guard !comparison.continuations.isEmpty else { return "" }
    var text =
      "<p class=\"lead\">The beginning of a text, or the first question of a conversation, and what each model says next where it takes the most likely token each time.</p>\n"
    for continuation in comparison.continuations {
      text += "<div class=\"scroll below\" role=\"region\" aria-label=\"A continuation\" tabindex=\"0\"><table><tbody>\n"
      let spoken =
        [("Beginning", continuation.beginning), (comparison.reference.name, continuation.reference)]
        + zip(comparison.entries.map(\.form.name), continuation.models).map { ($0, $1) }
      for (name, words) in spoken {
        text +=
          "<tr><th scope=\"row\">\(shortened(name).html)</th><td class=\"left\" style=\"white-space:normal\">\(words.html)</td></tr>\n"
      }
      text += "</tbody></table></div>\n"
    }
    return text
  }

  private var tensors: String {
    var text = ""
    for entry in comparison.entries where !entry.tensors.isEmpty {
      text += "<h3>\(entry.form.name.html)</h3><div class=\"scroll below\" role=\"region\" aria-label=\"Matrices\" tabindex=\"0\"><table>"
      text += "<thead><tr>\(Self.heads(["Tensor", "Stored as", "Signal/noise"]))</tr></thead><tbody>\n"
      for tensor in entry.tensors.prefix(Self.worst) { text += Self.row(tensor.name, [tensor.storage, decibels(tensor.decibels)]) }
      text += "</tbody></table></div>\n"
    }
    return text
  }

  private static func heads(_ names: [String]) -> String { names.map { "<th scope=\"col\">\($0.html)</th>" }.joined() }

  private static func row(_ name: String, _ cells: [String]) -> String {
    "<tr><th scope=\"row\"><bdi>\(name.html)</bdi></th>" + cells.map { "<td>\($0.html.minus)</td>" }.joined() + "</tr>\n"
  }

  private func megabytes(_ bytes: Int) -> String { "\(fixed(Double(bytes) / 1e6, 1)) MB" }

  /// A perplexity has no upper bound: beyond a million its digits say nothing.
  private func perplexity(_ value: Double) -> String { value < 1e6 ? fixed(value, 2) : "over a million" }

  private func decibels(_ value: Double) -> String { value.isFinite ? "\(fixed(value, 1)) dB" : "exact" }
}
