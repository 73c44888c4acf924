@testable internal import DibitTokenizer
internal import Testing

@Suite struct CanonicalCompositionTests {
  @Test(
    "texts compose as Unicode says",
    arguments: [
      ("plain", "plain"), ("e\u{301}", "\u{e9}"), ("\u{e9}", "\u{e9}"), ("\u{212b}\u{2126}", "\u{c5}\u{3a9}"),
      ("a\u{302}\u{323}", "\u{1ead}"), ("a\u{323}\u{302}", "\u{1ead}"), ("\u{1112}\u{1161}\u{11ab}", "\u{d55c}"),
      ("\u{ac00}\u{11a8}", "\u{ac01}"),
      ("\u{ac01}\u{11a8}", "\u{ac01}\u{11a8}"), ("\u{958}", "\u{915}\u{93c}"), ("\u{301}e", "\u{301}e"),
      ("e\u{34f}\u{301}", "e\u{34f}\u{301}"),
      ("\u{f900}", "\u{8c48}"), ("\u{1d15e}", "\u{1d157}\u{1d165}"), ("a\u{5ae}\u{300}\u{315}b", "\u{e0}\u{5ae}\u{315}b"),
    ])
  func composition(text: String, expected: String) {
    let composed = String(decoding: CanonicalComposition.composed(Array(text.utf8)), as: UTF8.self)
    #expect(composed.isSpelled(as: expected))
  }
}
