import DibitModelStore
import DibitTensor
import DibitTokenizer
import Testing

@testable import DibitInference

@Suite struct StopStringTests {
  /// What comes out of pieces, one by one, and the stop string.
  private func run(_ strings: [String], _ pieces: [String]) -> (pieces: [String], found: String?) {
    var stops = StopStrings(strings)
    var out = pieces.map { stops.append($0) }
    out.append(stops.flush())
    return (out, stops.found)
  }

  /// The text before the stop string that ends first, the longest of those that end there.
  private func plain(_ strings: [String], _ text: String) -> (text: String, found: String?) {
    let bytes = Array(text.utf8)
    for end in 0...bytes.count {
      let matching = strings.filter { !$0.isEmpty && bytes[..<end].suffix($0.utf8.count).elementsEqual($0.utf8) }
      if let longest = matching.max(by: { $0.utf8.count < $1.utf8.count }) {
        return (String(decoding: bytes[..<(end - longest.utf8.count)], as: UTF8.self), longest)
      }
    }
    return (text, nil)
  }

  static let cases: [(strings: [String], text: String)] = [
    (["\n\n"], "one\ntwo\n\nthree"), (["</s>"], "a < b </ s></s> c"), (["aab"], "aaaaab aab"), (["abab", "ba"], "xabab"),
    (["abcd", "bc"], "zabcd"), (["bcd", "abcd"], "zabcd"), (["END"], "no end EN"), (["END"], "END"), ([], "END"), ([""], "END"),
    (["é", "ü"], "caf\u{E9}!"), (["e\u{301}"], "caf\u{E9} cafe\u{301}!"), (["😀😀"], "😀 😀😁 😀😀"), (["\u{301}"], "cafe\u{301}!"),
    (["ababac"], "abababac"), (["User:", "user:"], "Us User user: x"), (["x"], ""), (["\r\n"], "a\rb\r\nc"),
  ]

  @Test("the same text wherever it is cut", arguments: cases.indices)
  func cuts(index: Int) {
    let (strings, text) = Self.cases[index]
    let expected = plain(strings, text)
    let scalars = text.unicodeScalars.map { String($0) }
    // Every way to cut it in three, and scalar by scalar.
    var ways = [scalars]
    for a in 0...scalars.count {
      for b in a...scalars.count { ways.append([scalars[..<a].joined(), scalars[a..<b].joined(), scalars[b...].joined()]) }
    }
    for pieces in ways {
      let result = run(strings, pieces)
      #expect(Array(result.pieces.joined().utf8) == Array(expected.text.utf8), "\(pieces)")
      #expect(result.found == expected.found)
      #expect(result.found.map { Array($0.utf8) } == expected.found.map { Array($0.utf8) })
    }
  }

  @Test("what may become a stop string is held back, all else comes at once")
  func holding() {
    #expect(run(["\nUser:"], ["hello", "\n", "Us", "ual", "\nUser", ": x"]).pieces == ["hello", "", "", "\nUsual", "", "", ""])
    #expect(run(["abab"], ["xaba", "ba"]).pieces == ["x", "", ""])
    #expect(run(["abab"], ["xaba", "cab"]).pieces == ["x", "abac", "ab"])
    #expect(run(["zz"], ["plain", " text"]).pieces == ["plain", " text", ""])
    #expect(run(["é"], ["e", "\u{301}"]).pieces == ["e", "\u{301}", ""])
  }

  @Test("random texts over a small alphabet", arguments: 0..<20)
  func random(seed: UInt64) {
    var rng = SplitMix64(seed: seed)
    let alphabet = ["a", "b", "é", "😀"]
    func word(_ count: Int) -> String { (0..<count).map { _ in alphabet[rng.below(seed % 2 == 0 ? 2 : 4)] }.joined() }
    for _ in 0..<50 {
      let strings = (0..<1 + rng.below(3)).map { _ in word(1 + rng.below(5)) }
      let pieces = (0..<12).map { _ in word(rng.below(4)) }
      let (result, expected) = (run(strings, pieces), plain(strings, pieces.joined()))
      #expect(result.pieces.joined() == expected.text)
      #expect(result.found == expected.found)
    }
  }
}

@Suite struct StoppedGenerationTests {
  @Test("a generation ends before a stop string, wherever it lies in tokens", arguments: 0..<4)
  func everywhere(seed: UInt64) throws {
    let model = try makeModel("llama")
    let prompt = model.tokenizer.encode("the goal")
    var session = makeSession(model)
    var options = GenerationOptions()
    (options.maximumTokens, options.sampling.temperature, options.sampling.seed) = (40, 1.5, seed)
    func generate() throws -> (result: Generation, pieces: [String]) {
      session.rewind()
      var pieces: [String] = []
      let result = try session.generate(prompt, tokenizer: model.tokenizer, options: options) {
        pieces.append($0)
        return true
      }
      return (result, pieces)
    }
    let free = try generate().result
    let scalars = Array(free.text.unicodeScalars)
    try #require(scalars.count > 20)
    for start in stride(from: 0, to: scalars.count - 5, by: 3) {
      let stop = scalars[start..<start + 5].map { String($0) }.joined()
      options.stopStrings = ["\u{0}none", stop]
      let (result, pieces) = try generate()
      let bytes = Array(free.text.utf8)
      let offset = try #require(bytes.indices.first { bytes[$0...].starts(with: stop.utf8) })
      #expect(Array(result.text.utf8) == Array(bytes[..<offset]))
      #expect(pieces.joined() == result.text)
      #expect(result.finishReason == .stop)
      #expect(result.stopString == stop)
      #expect(result.tokens == Array(free.tokens.prefix(result.tokens.count)))
      // No more tokens than it takes to complete the string.
      var decoder = model.tokenizer.streamDecoder()
      for id in prompt { _ = decoder.append(id) }
      let before = result.tokens.dropLast().map { decoder.append($0) }.joined()
      #expect(before.utf8.count < offset + stop.utf8.count)
    }
  }

  @Test("what was held back comes out when the text ends otherwise")
  func heldText() throws {
    let model = try makeModel("llama")
    let prompt = model.tokenizer.encode("the goal")
    var session = makeSession(model)
    var options = GenerationOptions()
    options.maximumTokens = 6
    let free = try session.generate(prompt, tokenizer: model.tokenizer, options: options)
    // A stop string that begins with all of the text, and never comes.
    options.stopStrings = [free.text + "\u{0}"]
    session.rewind()
    var pieces: [String] = []
    let held = try session.generate(prompt, tokenizer: model.tokenizer, options: options) {
      pieces.append($0)
      return true
    }
    #expect(held.text == free.text)
    #expect(held.finishReason == .length)
    #expect(held.stopString == nil)
    #expect(pieces == [String](repeating: "", count: 6) + [free.text])
  }
}
