import DibitJSON
import DibitReport
import DibitStatistics
import DibitTensor
import Foundation
import Testing

@Suite struct ReportJSONTests {
  private static let small: EvaluationReport = {
    var sample = SampleReport()
    sample.labels = ["food", "money", "space"]
    sample.examples = 30
    var report = sample.make(bootstrap: Bootstrap(resamples: 30, method: .percentile))
    report.seed = .max
    let both: [(truth: Set<Int>, prediction: Set<Int>)] = [
      (truth: [0, 1], prediction: [1]), (truth: [2], prediction: [2]),
    ]
    report.runs[1].tags = ReportedTags(TagMetrics(labels: 3, examples: both))
    report.runs[1].perplexity = 12.5
    return report
  }()

  @Test(arguments: [false, true])
  func whatIsWrittenIsReadBack(pretty: Bool) throws {
    let text = Self.small.json.serialized(pretty: pretty)
    #expect(try EvaluationReport(parsing: text.utf8) == Self.small)
    let large = SampleReport().make(bootstrap: Bootstrap(resamples: 30, method: .percentile))
    #expect(try EvaluationReport(parsing: large.json.serialized().utf8) == large)
  }

  @Test func theKeysOfEarlierVersionsStay() throws {
    let json = Self.small.json
    for key in [
      "schema", "examples", "split", "truncated_examples", "labels", "runs", "majority_accuracy",
      "baselines", "comparisons", "leakage",
      "seed",
    ] {
      #expect(json[key] != nil, "\(key)")
    }
    let run = try #require(json["runs"]?.array?.first)
    for key in ["name", "accuracy", "macro_f1", "log_loss", "seconds", "per_label", "confusion"] {
      #expect(run[key] != nil, "\(key)")
    }
    let comparison = try #require(json["comparisons"]?.array?.first)
    #expect(
      comparison.object?.keys.prefix(6) == ["a", "b", "metric", "difference", "ci95", "p_value"])
    #expect(comparison["ci95"]?.array?.count == 2)
    #expect(json["schema"] == 1 && json["seed"] == .string("18446744073709551615"))
  }

  @Test func theExampleOfTheDocumentation() throws {
    let file = String(#filePath.dropLast("Tests/DibitReportTests/ReportJSONTests.swift".count)) + "docs/formats/report.md"
    let text = String(decoding: try Data(contentsOf: URL(filePath: file, directoryHint: .notDirectory)), as: UTF8.self)
    let example = try #require(text.components(separatedBy: "```json\n").dropFirst().first?.components(separatedBy: "```").first)
    let report = try EvaluationReport(parsing: example.utf8)
    let prose = text.components(separatedBy: "It reads: \"").last?.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(prose == report.verdict + "\"")
    #expect(report.seed == 7 && report.digests.adapters.first?.name == "notes-adapter")
  }

  /// As `dibit evaluate --json` wrote it before there were baselines and comparisons.
  @Test func earlierReportsAreRead() throws {
    let old = """
      {"schema":1,"examples":4,"split":"test","truncated_examples":1,"labels":["a","b"],"majority_accuracy":0.5,"runs":[
      {"name":"base","accuracy":0.5,"macro_f1":0.3333333333333333,"log_loss":0.7,"seconds":2,"per_label":{},"confusion":[[2,0],[2,0]]},
      {"name":"./x","accuracy":0.75,"macro_f1":0.7333333333333334,"log_loss":null,"seconds":2.5,"per_label":{},"confusion":[[2,0],[1,1]]}]}
      """
    let report = try EvaluationReport(parsing: old.utf8)
    #expect(report.runs.map(\.kind) == [.base, .adapter])
    #expect(
      report.truncated == 1 && report.majority == 0.5 && report.runs[0].logLoss == 0.7
        && report.runs[1].logLoss == nil)
    #expect(
      report.verdict.hasPrefix(
        "Adapter './x' has 75.0 % of 4 texts right against 50.0 % of the base model; whether"))
    #expect(HTMLReport(report).html.contains("Not shown to beat the base model"))
  }

  static let memberFaults: [(list: String, key: String, value: JSONValue, expected: String)] = [
    (
      "runs", "confusion", JSONValue.array([[1, 2]]),
      "'runs[0].confusion': 3 rows of 3 counts expected, 1 rows of 2 found"
    ),
    (
      "runs", "confusion", [[.integer(.max), 1, 1], [1, 1, 1], [1, 1, 1]],
      "'runs[0].confusion[0][0]': a whole number from 0 to 2^52 expected, 9223372036854775807 found"
    ),
    (
      "runs", "confusion", [[30, 1, 0], [0, 0, 0], [0, 0, 0]],
      "'runs[0].accuracy': 0.967741935483871, as the matrix says expected, 0.5 found"
    ),
    ("runs", "accuracy", 0.5, "'runs[0].accuracy': "),
    (
      "runs", "kind", "other\u{1B}[2J",
      "'runs[0].kind': a known kind of run expected, 'other [2J' found"
    ),
    ("runs", "ece", 1.5, "'runs[0].ece': a number from 0 to 1 expected, 1.5 found"),
    ("runs", "seconds", -1, "'runs[0].seconds': a number of at least 0 expected, -1 found"),
    (
      "runs", "accuracy_ci95", [0.9, 0.1],
      "'runs[0].accuracy_ci95': two numbers in order expected, [0.9, 0.1] found"
    ),
    (
      "runs", "name", "naive Bayes on words",
      "'runs': different names expected, 'naive Bayes on words' twice found"
    ),
    (
      "comparisons", "p_value", 2,
      "'comparisons[0].p_value': a number from 0 to 1 expected, 2 found"
    ),
    ("comparisons", "difference", .null, "'comparisons[0].difference' is missing"),
    ("notes", "kind", "unknown", "'notes[0].kind': a known kind of note expected, 'unknown' found"),
    ("training", "losses", [1], "'training[0].losses': 120 losses expected, 1 found"),
  ]

  @Test(arguments: [
    ("", "not a saved report: JSON at byte 0: expected a value, found the end of the text"),
    ("[]", "not a saved report: 'report': an object expected, an array found"),
    ("{}", "not a saved report: 'schema' is missing"),
    (#"{"schema":2}"#, "not a saved report: 'schema': 1 expected, 2 found"),
    (
      #"{"schema":1,"schema":1}"#,
      "not a saved report: JSON at byte 12: the key 'schema' appears twice"
    ),
    (
      #"{"schema":-1}"#,
      "not a saved report: 'schema': a whole number from 0 to 2^52 expected, -1 found"
    ),
    (
      #"{"schema":1,"labels":["a","a"]}"#,
      "not a saved report: 'labels': different names expected, 'a' twice found"
    ),
    (
      #"{"schema":1,"labels":[1]}"#,
      "not a saved report: 'labels[0]': a string expected, a number found"
    ),
    (
      String(repeating: "[", count: 100_000),
      "not a saved report: JSON at byte 16: nested deeper than 16 levels"
    ),
  ])
  func faults(text: String, expected: String) {
    #expect { try EvaluationReport(parsing: text.utf8) } throws: { "\($0)" == expected }
  }

  @Test(arguments: memberFaults)
  func faultsOfMembers(list: String, key: String, value: JSONValue, expected: String) throws {
    var report = try #require(Self.small.json.object)
    var elements = try #require(report[list]?.array)
    var first = try #require(elements[0].object)
    first[key] = value
    if key == "confusion", value.array?.count == 3 { first["accuracy"] = 0.5 }
    elements[0] = .object(first)
    report[list] = .array(elements)
    #expect { try EvaluationReport(json: .object(report)) } throws: {
      "\($0)".hasPrefix("not a saved report: " + expected)
    }
  }

  @Test func theNumberOfExamplesMustAgree() throws {
    var report = try #require(Self.small.json.object)
    report["examples"] = 31
    #expect { try EvaluationReport(json: .object(report)) } throws: {
      "\($0)"
        == "not a saved report: 'runs': 31 examples in each confusion matrix expected, 30 in 'base' found"
    }
  }

  /// Whatever happens to the bytes, there is a report, which can then be shown, or an error.
  @Test func damagedFilesNeverTrap() {
    let whole = Array(Self.small.json.serialized().utf8)
    var generator = SplitMix64(seed: 5)
    var (read, refused) = (0, 0)
    let pieces = [
      #"""#, "}", "]", "0", "9", "-", "e308", "null", "1e-9", "[", "{", ",", "9999999999999999999",
    ].map { Array($0.utf8) }
    for _ in 0..<400 {
      var bytes = whole
      for _ in 0...generator.below(3) {
        let index = generator.below(bytes.count)
        switch generator.below(3) {
        case 0: bytes[index] = UInt8(generator.below(256))
        case 1: bytes.removeSubrange(index..<min(bytes.count, index + 1 + generator.below(20)))
        default:
          bytes.replaceSubrange(
            index..<min(bytes.count, index + 1), with: pieces[generator.below(pieces.count)])
        }
      }
      do {
        let report = try EvaluationReport(parsing: bytes)
        read += 1
        if read % 10 == 0 {
          #expect(
            HTMLReport(report).html.hasSuffix("</html>\n")
              && TerminalReport(report).lines.count <= 23)
        }
      } catch {
        refused += 1
        #expect(!"\(error)".contains("\n"))
      }
    }
    #expect(read > 10 && refused > 100, "\(read) \(refused)")
  }
}
