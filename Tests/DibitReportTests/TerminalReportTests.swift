import DibitStatistics
import Testing

@testable import DibitReport

@Suite struct TerminalReportTests {
  private func isPlain(_ line: String) -> Bool {
    line.unicodeScalars.allSatisfy {
      $0.properties.generalCategory != .control && $0.properties.generalCategory != .format
    }
  }

  @Test(arguments: [1, 2, 4, 16, 20, 23, 24])
  func fitsOneScreenWithEveryLabel(count: Int) {
    var sample = SampleReport()
    sample.labels = (0..<count).map { "label-\($0)" }
    sample.examples = 96
    let report = sample.make(bootstrap: Bootstrap(resamples: 20, method: .percentile))
    let lines = TerminalReport(report).lines
    #expect(lines.count <= 23, "\(lines.count)")
    #expect(lines.allSatisfy { TerminalText.width($0) <= 80 && isPlain($0) && $0.last != " " })
    let all = lines.joined(separator: "\n")
    for label in sample.labels { #expect(all.contains(label), "\(label)") }
    #expect(all.contains("runs/newsgroups-r32") && all.contains("naive Bayes on words"))
    #expect(
      // With a single label nothing can differ.
      ["is ", "does not beat ", count == 1 ? "changes nothing" : "is "].contains {
        lines[0].hasPrefix("Adapter 'runs/newsgroups-r32' " + $0)
      })
  }

  @Test func manyLabelsAndManyRuns() {
    var sample = SampleReport()
    sample.labels = (0..<77).map { "intent number \($0)" }
    sample.examples = 154
    var report = sample.make(bootstrap: Bootstrap(resamples: 20, method: .percentile))
    let lines = TerminalReport(report).lines
    #expect(lines.count <= 23 && lines.contains { $0.hasPrefix("hardest ") })
    for copy in 0..<20 {
      var run = report.runs[1]
      run.name = "copy \(copy)"
      report.runs.append(run)
    }
    let crowded = TerminalReport(report).lines
    #expect(crowded.count <= 23 && crowded.contains { $0.hasPrefix("… and ") })
    for (width, height) in [(40, 12), (60, 24), (200, 50)] {
      let lines = TerminalReport(report, width: width, height: height).lines
      #expect(
        lines.count < height && lines.allSatisfy { TerminalText.width($0) <= width }, "\(width)")
    }
  }

  @Test("no line is wider than the terminal, and the verdict is whole", arguments: [60, 80, 100])
  func widths(columns: Int) {
    var report = SampleReport().make(bootstrap: Bootstrap(resamples: 20, method: .percentile))
    report.baselines[1].name = "a baseline of a very long name that no terminal has room for, few-shot prompt, 8 examples"
    let lines = TerminalReport(report, width: columns, height: 24).lines
    #expect(lines.count < 24 && lines.allSatisfy { TerminalText.width($0) <= columns })
    #expect(lines.joined(separator: " ").hasPrefix(report.verdict))
    // What has no room is left out from the right.
    #expect(lines.contains { $0.hasPrefix("run ") && $0.contains("accuracy") && $0.contains("texts/s") == (columns >= 80) })
  }

  @Test func hostileNames() {
    var sample = SampleReport()
    sample.labels = [
      "\u{1B}[31mred\u{7}", "日本語のとても長いラベルです、本当に", "e\u{301}té\u{202E}gnp", "a\nb\tc",
      "👍👍👍👍👍👍👍👍👍👍👍👍👍👍👍👍👍👍👍",
    ]
    sample.examples = 50
    var report = sample.make(bootstrap: Bootstrap(resamples: 20, method: .percentile))
    report.runs[1].name = "\u{1B}]0;title\u{7}" + String(repeating: "長", count: 60)
    let lines = TerminalReport(report).lines
    #expect(lines.allSatisfy { isPlain($0) && TerminalText.width($0) <= 80 })
    #expect(lines.count <= 23)
  }

  @Test func textInCells() {
    #expect(TerminalText.width("日本e\u{301}") == 5)
    #expect(TerminalText.fit("日本語", 5) == "日本…")
    #expect(TerminalText.fit("日本語", 4) == "日… ")
    #expect(TerminalText.fit("ab", 4, alignRight: true) == "  ab")
    #expect(TerminalText.fit("abc", 0).isEmpty)
    #expect(TerminalText.fitMiddle("comp.sys.ibm.pc.hardware", 16) == "comp.sys…ardware")
    #expect(TerminalText.fitMiddle("short", 10) == "short     ")
    #expect(TerminalText.wrap("a bb ccc 95 % d", 6, limit: 9) == ["a bb", "ccc", "95 % d"])
    #expect(TerminalText.wrap("aaa bbb ccc", 4, limit: 2) == ["aaa", "bbb…"])
    #expect(
      TerminalText.wrap("aaaa bbbb cccc", 4, limit: 2).allSatisfy { TerminalText.width($0) <= 4 })
    #expect(TerminalText.wrap("", 10, limit: 3).isEmpty)
  }

  @Test func numbers() {
    #expect(
      fixed(1.005, 1) == "1.0" && fixed(-0.04, 1) == "0.0" && fixed(-2.25, 2) == "-2.25"
        && fixed(3, 0) == "3")
    #expect(fixed(.nan, 2) == "-" && fixed(.infinity, 1) == "∞" && fixed(1e300, 2) == "1e+300")
    #expect(points(0.0712) == "+7.1" && points(-0.3) == "-30.0" && points(0.0001) == "0.0")
    #expect(
      pText(0.00001) == "p < 0.0001" && pText(0.0004) == "p = 0.0004"
        && pText(0.0312) == "p = 0.031" && pText(0.5) == "p = 0.50")
    #expect(
      [0.0000051, 0.0123, 0.25, 3.44, 125].map(duration) == [
        "5 µs", "12.3 ms", "250 ms", "3.4 s", "2 min 5 s",
      ])
    #expect([12, 2048, 412_345_678].map(bytes) == ["12 B", "2.0 KiB", "393 MiB"])
    #expect(
      shortened("runs/one") == "runs/one"
        && shortened("/a/very/long/path/that/goes/on/and/on/and/on/adapter") == "adapter")
    #expect(
      shortened(String(repeating: "x", count: 50)).count == 40 && middle("abcdefghij", 5) == "ab…ij"
    )
    #expect(
      [1.234, 45.67, 1234.5].map(rate) == ["1.23", "45.7", "1235"] || rate(1234.5) == "1234")
  }
}
