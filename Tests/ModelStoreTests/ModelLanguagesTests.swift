import DibitTestSupport
import Testing

@testable import DibitModelStore

@Suite struct ModelLanguagesTests {
  @Test(
    "languages in the head of a card",
    arguments: [
      ("---\nlanguage: en\n---\n", ["en"]), ("---\nlanguage: [en, \"pt-BR\"]\n---\n", ["en", "pt-BR"]),
      ("---\nlicense: x\nlanguage:\n- en\n- 'de'\ntags:\n- fr\n---\n", ["en", "de"]), ("---\nlanguage:\n---\n", []),
      ("# A model\nlanguage: en\n", []), ("---\nlanguage: en\n", []), ("---\nlanguage: [<script>, en]\n---\n", ["en"]), ("", []),
    ])
  func cards(text: String, expected: [String]) { #expect(ModelLanguages.languages(inCard: text) == expected) }

  @Test("the manifest of a conversion comes before the card, and what cannot be read says nothing")
  func files() throws {
    let scratch = Scratch()
    let path = try TinyCheckpoint.llama().write(to: scratch)
    #expect(ModelLanguages.read(path) == [])
    try scratch.write("---\nlanguage: en\n---\n", to: "source/README.md")
    #expect(ModelLanguages.read(path) == ["en"])
    try scratch.write(#"{"languages": ["fr", "de"]}"#, to: "source/manifest.json")
    #expect(ModelLanguages.read(path) == ["fr", "de"] && ModelLanguages.read(scratch("nowhere")) == [])
  }
}
