import DibitStatistics
import Foundation
import Testing

@testable import DibitReport

@Suite struct HTMLReportTests {
  private static let news = HTMLReport(
    SampleReport().make(bootstrap: Bootstrap(resamples: 30, method: .percentile))
  )
  .html

  private static let many: String = {
    var sample = SampleReport()
    sample.labels = (0..<77).map { "intent_\($0)" }
    sample.examples = 154
    return HTMLReport(sample.make(bootstrap: Bootstrap(resamples: 20, method: .percentile))).html
  }()

  /// The pages that most tests are about: a few labels as a table, many as a map.
  enum Page: CaseIterable {
    case few, many

    var html: String { self == .few ? news : HTMLReportTests.many }
  }

  /// A tag of a page: its name, whether it opens or closes, and its attributes.
  struct Tag {
    var name = ""
    var closes = false
    var isEmpty = false
    var attributes: [String: String] = [:]
  }

  /// The tags of a page whose every `<` begins one; nil where that is not so.
  private func parse(_ html: String) -> [Tag]? {
    var tags: [Tag] = []
    // The style sheet has no markup but may hold '>' between selectors.
    guard let start = html.range(of: "<style>"), let end = html.range(of: "</style>") else {
      return nil
    }
    let rest = html[..<start.upperBound] + html[end.lowerBound...]
    for piece in rest.split(separator: "<", omittingEmptySubsequences: false).dropFirst() {
      guard let close = piece.firstIndex(of: ">") else { return nil }
      if piece.dropFirst(
        close == piece.endIndex ? 0 : piece.distance(from: piece.startIndex, to: close) + 1
      ).contains(">") {
        return nil
      }
      var text = piece[..<close]
      var tag = Tag()
      if text.hasSuffix("/") { (tag.isEmpty, text) = (true, text.dropLast()) }
      if text.hasPrefix("/") { (tag.closes, text) = (true, text.dropFirst()) }
      let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
      guard parts.count % 2 == 1 else { return nil }
      tag.name = String(text.prefix { $0 != " " && $0 != "\n" })
      for index in stride(from: 0, to: parts.count - 1, by: 2) {
        guard let name = parts[index].split(whereSeparator: { $0 == " " || $0 == "=" }).last else {
          return nil
        }
        tag.attributes[String(name)] = String(parts[index + 1])
      }
      tags.append(tag)
    }
    return tags
  }

  @Test(arguments: Page.allCases)
  func tagsAreBalancedAndAddressesLead(which: Page) throws {
    let page = which.html
    let tags = try #require(parse(page))
    var open: [String] = []
    for tag in tags where !tag.isEmpty && !["meta", "!doctype"].contains(tag.name) {
      if tag.closes { #expect(open.popLast() == tag.name) } else { open.append(tag.name) }
    }
    #expect(open.isEmpty)
    let ids = tags.compactMap { $0.attributes["id"] }
    #expect(Set(ids).count == ids.count)
    for tag in tags {
      if let address = tag.attributes["href"] {
        #expect(address.hasPrefix("#") && ids.contains(String(address.dropFirst())), "\(address)")
      }
      for id in tag.attributes["aria-labelledby"]?.split(separator: " ") ?? [] {
        #expect(ids.contains(String(id)))
      }
    }
  }

  @Test(arguments: Page.allCases)
  func nothingIsLoadedAndNothingRuns(which: Page) throws {
    let page = which.html
    let tags = try #require(parse(page))
    let allowed: Set<String> = [
      "!doctype", "html", "head", "meta", "title", "style", "body", "a", "header", "main", "footer",
      "nav", "section", "p", "h1", "h2",
      "h3", "dl",
      "dt", "dd", "div", "span", "small", "b", "i", "bdi", "table", "caption", "thead", "tbody",
      "tr", "th", "td", "svg", "desc", "path",
      "rect",
      "circle", "text", "figure", "figcaption", "ul", "li", "article", "blockquote", "pre", "code",
      "details", "summary",
    ]
    #expect(Set(tags.map(\.name)).subtracting(allowed).isEmpty)
    for tag in tags {
      #expect(
        !tag.attributes.keys.contains { $0.hasPrefix("on") || $0 == "src" || $0 == "xlink:href" })
      #expect(tag.attributes["style"]?.contains("url") != true)
    }
    #expect(
      !page.contains("http://") && !page.contains("https://") && !HTMLStyle.sheet.contains("url(")
        && !HTMLStyle.sheet.contains("@import"))
    #expect(page.contains("script-src 'none'; img-src 'none'"))
  }

  @Test(arguments: Page.allCases)
  func screenReadersHaveNames(which: Page) throws {
    let page = which.html
    let tags = try #require(parse(page))
    for (index, tag) in tags.enumerated() where !tag.closes {
      if tag.name == "th" {
        #expect(tag.attributes["scope"] == "col" || tag.attributes["scope"] == "row")
      }
      if tag.name == "svg" {
        let named =
          tag.attributes["aria-label"] != nil
          || (tag.attributes["aria-labelledby"] != nil && tags[index + 1].name == "title")
        #expect(tag.attributes["aria-hidden"] == "true" || tag.attributes["role"] == "img" && named)
      }
      if tag.attributes["role"] == "region" {
        #expect(tag.attributes["aria-label"] != nil && tag.attributes["tabindex"] == "0")
      }
    }
    for landmark in ["header", "nav", "main", "footer", "h1"] {
      #expect(tags.count { $0.name == landmark && !$0.closes } == 1, "\(landmark)")
    }
    #expect(page.contains("<html lang=\"en\">"))
  }

  @Test func hostileTextsStayText() {
    let attack = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;\u{0}\u{202E}"
    var sample = SampleReport()
    sample.labels = [attack, "b" + attack, "c", "d"]
    sample.examples = 40
    var report = sample.make(bootstrap: Bootstrap(resamples: 20, method: .percentile))
    report.runs[1].name = attack
    report.model = attack
    report.data = attack
    report.split = attack
    report.command = attack
    report.notes = [HygieneNote(.other, count: 1, attack)]
    report.digests = Digests(
      model: attack, data: attack, adapters: [.init(name: attack, digest: attack)])
    report.losses = [LossSeries(name: attack, points: [.init(step: 1, loss: 1)])]
    report.comparisons = report.comparisons.map { comparison in
      var comparison = comparison
      comparison.a = attack
      return comparison
    }
    for index in report.runs[1].samples.indices { report.runs[1].samples[index].text = attack }
    let page = HTMLReport(report).html
    #expect(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&gt;"))
    #expect(
      !page.contains("<script") && !page.contains("<img") && !page.contains("\u{0}")
        && !page.contains("\u{202E}"))
    #expect(parse(page) != nil)
    #expect("a & b\u{7}\n\t\"".html == "a &amp; b\u{FFFD}\n\t&quot;")
  }

  @Test func saysWhatMatters() {
    let page = Self.news
    #expect(page.contains("<h1>Better than the base model and every baseline</h1>"))
    #expect(page.contains("7 of the 400 texts are, or nearly are, in the training data"))
    #expect(page.contains("dibit evaluate ./smollm2-135m-2bit --adapter"))
    #expect(page.contains("&lt;script&gt;alert("))
    for heading in [
      "Scores", "Comparisons", "The data", "Labels", "Confusion", "Calibration", "Answering less",
      "Speed", "Mistakes", "Training",
    ] {
      #expect(page.contains("-h\">\(heading)</h2>"), "\(heading)")
    }
    for label in SampleReport.newsgroups { #expect(page.contains(label), "\(label)") }
    #expect(Self.many.contains("<svg class=\"map\"") && Self.many.contains("The other 62 labels"))
    #expect("of x-1 (-2.0 % to -3)".signed == "of x-1 (−2.0\u{A0}% to −3)")
  }

  @Test func sectionsWithoutContentAreLeftOut() {
    let metrics = ClassificationMetrics(
      labels: 2, pairs: [(truth: 0, prediction: 0), (truth: 1, prediction: 0)])
    let report = EvaluationReport(
      labels: ["a", "b"], split: "train", examples: 2,
      runs: [ReportedRun(name: "base", kind: .base, metrics: metrics)])
    let page = HTMLReport(report).html
    #expect(parse(page) != nil)
    for id in [
      "comparisons", "calibration", "abstention", "speed", "mistakes", "training", "others",
      "again",
    ] {
      #expect(!page.contains("id=\"\(id)\""), "\(id)")
    }
    #expect(page.contains("With care: these are the texts of the training split."))
    #expect(
      HTMLReport(EvaluationReport(labels: [], split: "", examples: 0, runs: [])).html.contains(
        "Nothing was evaluated."))
  }

  // MARK: Colours

  private func color(_ hex: Substring) -> [Double] {
    let full = hex.count == 3 ? hex.map { "\($0)\($0)" }.joined() : String(hex)
    return stride(from: 0, to: 6, by: 2).map {
      Double(Int(full.dropFirst($0).prefix(2), radix: 16) ?? 0)
    }
  }

  private func contrast(_ a: [Double], _ b: [Double]) -> Double {
    let (x, y) = (HTMLStyle.luminance(a), HTMLStyle.luminance(b))
    return (max(x, y) + 0.05) / (min(x, y) + 0.05)
  }

  @Test func textsStandOutFromWhatIsBehindThem() throws {
    #expect(abs(contrast([255, 255, 255], [0, 0, 0]) - 21) < 1e-9)
    // #777777 on white is the textbook's 4.48.
    #expect(abs(contrast([119, 119, 119], [255, 255, 255]) - 4.48) < 0.005)
    let themes = HTMLStyle.sheet.split(separator: ":root{").map {
      $0.prefix { $0 != "}" }
    }
    #expect(themes.count == 2)
    for theme in themes {
      var values: [String: [Double]] = [:]
      for entry in theme.split(separator: ";") {
        let parts = entry.split(separator: ":")
        if parts.count == 2, parts[1].hasPrefix("#") {
          values[parts[0].filter { $0 != "\n" }] = color(parts[1].dropFirst())
        }
      }
      for back in ["--page", "--card"] {
        for text in ["--ink", "--muted", "--accent", "--bad", "--good"] {
          #expect(
            contrast(try #require(values[text]), try #require(values[back])) >= 4.5,
            "\(text) on \(back)")
        }
        // Graphics need 3 (WCAG 2.1, 1.4.11).
        for mark in ["--range", "--cheap", "--accent", "--bad"] {
          #expect(
            contrast(try #require(values[mark]), try #require(values[back])) >= 3,
            "\(mark) on \(back)")
        }
      }
    }
    let cells = HTMLStyle.sheet.split(separator: ".matrix td.").dropFirst()
    #expect(cells.count == 40)
    for cell in cells {
      let parts = cell.split(separator: "#")
      #expect(contrast(color(parts[1].prefix(6)), color(parts[2].prefix(3))) >= 4.5, "\(cell)")
    }
  }

  // MARK: Charts

  @Test func axesHaveRoundMarks() {
    #expect(
      Chart.Axis.upTo(179, "texts", whole: true).ticks.map(\.text) == [
        "0", "50", "100", "150", "200",
      ])
    #expect(
      Chart.Axis.upTo(2.3, "loss").ticks.map(\.text) == ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5"])
    #expect(
      Chart.Axis.upTo(0.237, "share", factor: 100).ticks.map(\.text) == [
        "0", "5", "10", "15", "20", "25",
      ])
    #expect(Chart.Axis.upTo(1, "texts", whole: true).ticks.map(\.text) == ["0", "1"])
    for value in [0, -1, .nan, .infinity, 1e300, 1e-300] {
      let axis = Chart.Axis.upTo(value, "x")
      #expect(axis.end > 0 && axis.end.isFinite && axis.ticks.count <= 8, "\(value)")
    }
  }

  @Test func coordinatesStayInside() {
    var chart = Chart(title: "a < b", detail: "", x: .share("x"), y: .share("y"))
    chart.line([(-5, .nan), (0.5, 0.5), (7, 1e300)], "s0")
    chart.bar(x: (0, 2), y: (0, 9), "a", "n")
    let svg = chart.svg("i")
    #expect(
      svg.contains("a &lt; b") && svg.contains("L195 123") && !svg.contains("nan")
        && !svg.contains("e+"))
  }
}
