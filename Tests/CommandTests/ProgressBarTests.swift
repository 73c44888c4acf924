import Testing

@testable import DibitCommand

/// The line that is drawn over again and again: one that wraps leaves a trail.
@Suite struct ProgressBarTests {
  private func bar(_ fraction: Double = 0.5) -> ProgressBar {
    ProgressBar(title: "training", fraction: fraction, share: "50 %", detail: "step 12 of 24, loss 1.234", time: "3 min 20 s left")
  }

  @Test func wideTerminals() {
    #expect(bar().text(columns: 200) == "training [############............] 50 %  step 12 of 24, loss 1.234  3 min 20 s left")
    #expect(bar(0).text(columns: 200).contains("[........................]"))
    #expect(bar(1).text(columns: 200).contains("[########################]"))
  }

  @Test("the bar gives way first, then the detail, then the rest")
  func narrowTerminals() {
    #expect(bar().text(columns: 70) == "training [####.....] 50 %  step 12 of 24, loss 1.234  3 min 20 s left")
    #expect(bar().text(columns: 62) == "training 50 %  step 12 of 24, loss 1.234  3 min 20 s left")
    #expect(bar().text(columns: 50) == "training [########........] 50 %  3 min 20 s left")
    #expect(bar().text(columns: 32) == "training 50 %  3 min 20 s left")
    #expect(bar().text(columns: 20) == "training 50 %")
    #expect(bar().text(columns: 6) == "train")
  }

  @Test("no line reaches the last column", arguments: 1...120)
  func everyWidth(columns: Int) { #expect(bar().text(columns: columns).count < max(columns, 2)) }
}
