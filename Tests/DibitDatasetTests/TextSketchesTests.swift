import DibitDataset
import DibitJSON
import DibitTensor
import Testing

@Suite struct TextSketchesTests {
  private let words = (0..<400).map { "word\($0)" }

  /// A text of `count` drawn words.
  private func text(_ count: Int, _ rng: inout SplitMix64) -> String {
    (0..<count).map { _ in words[rng.below(words.count)] }.joined(separator: " ")
  }

  @Test("the same texts are found, and texts of other spelling, but no others")
  func matches() {
    var rng = SplitMix64(seed: 1)
    let learnt = (0..<500).map { _ in text(30, &rng) }
    let sketches = TextSketches(learnt)
    #expect(sketches.count == 500)
    #expect(sketches.matches(of: learnt) == [TextSketches.Match?](repeating: .exact, count: 500))
    let respelt = learnt.map { $0.uppercased().replacing(" ", with: ", ") + "." }
    #expect(sketches.matches(of: respelt) == [TextSketches.Match?](repeating: .near, count: 500))
    let others = (0..<500).map { _ in text(30, &rng) }
    #expect(sketches.matches(of: others) == [TextSketches.Match?](repeating: nil, count: 500))
  }

  @Test("texts of which one word in forty is another are mostly found, those of which one in six is not")
  func edited() {
    var rng = SplitMix64(seed: 2)
    let learnt = (0..<300).map { _ in text(120, &rng) }
    let sketches = TextSketches(learnt)
    func found(changing count: Int) -> Int {
      let edited = learnt.map { text in
        var words = text.split(separator: " ").map(String.init)
        for index in 0..<count { words[index * words.count / count] = "other\(index)" }
        return words.joined(separator: " ")
      }
      return sketches.matches(of: edited).count { $0 == .near }
    }
    // Three changed words touch nine of 118 runs: 109 / 127 = 86 % are common; twenty touch sixty: 33 %.
    #expect(found(changing: 3) > 200)
    #expect(found(changing: 20) == 0)
  }

  @Test("texts without words match nothing")
  func empty() {
    let sketches = TextSketches(["", " \n", "?!"])
    #expect(sketches.matches(of: ["", "?!", "a"]) == [nil, nil, nil])
    #expect(TextSketches([]).matches(of: ["a"]) == [nil])
  }

  @Test("written and read")
  func json() throws {
    var rng = SplitMix64(seed: 3)
    let sketches = TextSketches((0..<20).map { _ in text(9, &rng) } + [""])
    #expect(TextSketches(json: try JSONValue(parsing: Array(sketches.json.serialized().utf8))) == sketches)
    for damaged: JSONValue in [
      [], ["schema": 2, "texts": []], ["schema": 1], ["schema": 1, "texts": ["00"]], ["schema": 1, "texts": [1]],
      ["schema": 1, "texts": [.string(String(repeating: "G", count: 160))]],
    ] {
      #expect(TextSketches(json: damaged) == nil)
    }
  }

  @Test("many texts that begin alike cost no more than others")
  func bounded() {
    let learnt = (0..<20_000).map { "the same words at the beginning of each of them and then number \($0)" }
    #expect(TextSketches(learnt).matches(of: learnt.prefix(50)).allSatisfy { $0 == .exact })
  }
}
