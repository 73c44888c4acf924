import DibitJSON
import DibitTestSupport
import Testing

/// Saved reports, from the command line.
@Suite struct ReportCommandTests {
  private let scratch = Scratch()

  /// A report of eight texts, of which the adapter has `right` right.
  private func report(_ name: String, right: Int, data: String = "notes") -> String {
    let accuracy = Double(right) / 8
    // Four texts of each label; mistakes are on the second.
    let f1 = (8 / Double(16 - right) + (right == 4 ? 0 : 2 * Double(right - 4) / Double(right))) / 2
    return """
      {"schema": 1, "data": "\(data)", "examples": 8, "split": "test", "labels": ["food", "money"],
       "runs": [{"name": "base", "kind": "base", "accuracy": 0.5, "macro_f1": 0.3333333333333333, "confusion": [[4, 0], [4, 0]]},
        {"name": "\(name)", "kind": "adapter", "accuracy": \(accuracy), "accuracy_ci95": [0.4, 0.9], "macro_f1": \(f1), "log_loss": 0.3,
         "confusion": [[4, 0], [\(8 - right), \(right - 4)]]}],
       "comparisons": [{"a": "\(name)", "b": "base", "metric": "accuracy", "difference": \(accuracy - 0.5), "ci95": [0.0, 0.75],
         "p_value": 0.5, "p_value_raw": 0.25}],
       "digests": {"data": "\(data)", "adapters": []}}
      """
  }

  @Test func oneReport() throws {
    let path = try scratch.write(report("notes-adapter", right: 7), to: "a.json")
    let outcome = try dibit("report", path, "--html", scratch("a.html"))
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.output.hasPrefix("8 texts are too few to tell whether adapter 'notes-adapter' beats the base model: 87.5 %"))
    #expect(outcome.output.contains("8 texts of the test split, 2 labels"))
    #expect(outcome.errors == "wrote \(scratch("a.html"))\n")
    #expect(try text(scratch("a.html")).hasPrefix("<!doctype html>"))
    try expectFailure(
      ["report", path, "--html", scratch("a.html")], status: 73,
      message: "'\(scratch("a.html"))': the output exists already; choose another name or pass --overwrite")
    #expect(try dibit("report", path, "--html", scratch("a.html"), "--overwrite").status == 0)
  }

  @Test func aTableIsNoReport() throws {
    let path = try scratch.write("text,label\nsoup,food\n", to: "texts.csv")
    let outcome = try dibit("report", path)
    #expect(outcome.status == 65 && outcome.errors == "error: '\(path)': not a saved report: JSON at byte 0: expected a value, found 't'\n")
  }

  @Test func folderOfRuns() throws {
    try scratch.write(report("x", right: 6), to: "runs/20261120T090000Z-00000001.json")
    try scratch.write(report("x", right: 7), to: "runs/20261121T090000Z-00000002.json")
    try scratch.write(report("y", right: 5, data: "letters"), to: "runs/20261121T100000Z-00000003.json")
    try scratch.write("not read", to: "runs/readme.txt")
    let outcome = try dibit("report", scratch("runs"))
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.errors == "")
    let lines = outcome.output.split(separator: "\n")
    #expect(lines.first == "notes, test split: 8 texts, 2 labels, 2 reports")
    let ranked = lines.filter { $0.first?.isNumber == true }.map { $0.split(separator: " ").filter { $0 != "~" && $0 != "?" }[1] }
    #expect(ranked == ["x", "x", "base", "y", "base"])
    #expect(lines.contains { $0.hasPrefix("  x     2026-11-20 09:00:00 UTC") && $0.hasSuffix("75.0 %") })
    #expect(lines.contains { $0.contains("2026-11-21 09:00:00 UTC") && $0.hasSuffix("+12.5") })
    #expect(lines.contains { $0.hasPrefix("  base  -37.5  95 % interval -75.0 to 0.0") })
    let json = try dibit("report", scratch("runs"), "--json", "--metric", "log_loss").json()
    #expect(json["metric"] == "log_loss")
    #expect(json["groups"]?.array?.count == 2)
    #expect(json["groups"]?.array?[0]["history"]?.array?.map { $0["name"] } == ["base", "x"])
    try expectFailure(
      ["report", scratch("runs"), "--html", scratch("a.html")], status: 64,
      message: "--html: expected one report, found 3; name one of them")
    #expect(!exists(scratch("a.html")))
  }

  @Test("files that are no reports are told, the others are ranked, and the exit code says so")
  func faults() throws {
    let good = try scratch.write(report("x", right: 6), to: "runs/a.json")
    try scratch.write("{\"schema\": 1", to: "runs/b.json")
    try scratch.write("{\"schema\": 2}", to: "runs/c.json")
    let outcome = try dibit("report", scratch("runs"), scratch("none.json"))
    #expect(outcome.status == 65)
    #expect(outcome.output.hasPrefix("notes, test split: 8 texts, 2 labels, 1 report\n"))
    let lines = outcome.errors.split(separator: "\n")
    #expect(lines.count == 4)
    #expect(lines[0].hasPrefix("not read: '\(scratch("runs/b.json"))': not a saved report: "))
    #expect(lines[1] == "not read: '\(scratch("runs/c.json"))': not a saved report: 'schema': 1 expected, 2 found")
    #expect(lines[2] == "not read: '\(scratch("none.json"))': no such file or directory")
    #expect(lines[3] == "error: 3 of 4 reports could not be read")
    let json = try dibit("report", good, scratch("runs/c.json"), "--json")
    #expect(json.status == 65)
    #expect(try json.json()["unreadable"]?.array?.first?["file"]?.string == scratch("runs/c.json"))
    try expectFailure(["report", scratch("none.json")], status: 66, message: "'\(scratch("none.json"))': no such file or directory")
    let empty = try scratch.directory("empty")
    try expectFailure(["report", empty], status: 66, message: "'\(empty)': saved reports expected in this folder, no .json file found")
    try scratch.write(String(repeating: "[", count: 1000), to: "deep.json")
    #expect(try dibit("report", scratch("deep.json")).status == 65)
  }
}
