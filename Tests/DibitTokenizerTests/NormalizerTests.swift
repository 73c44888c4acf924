@testable internal import DibitTokenizer
internal import Testing

@Suite struct NormalizerTests {
  private func normalized(_ text: String, _ steps: Normalizer.Step...) -> String {
    String(decoding: Normalizer(steps: steps).apply(Array(text.utf8)).text, as: UTF8.self)
  }

  @Test("scalars become what Hugging Face's version of Unicode says")
  func versions() {
    #expect(normalized("a\u{301}b\u{111C9}\u{1715}\u{1CF2}\u{898}", .stripAccents).isSpelled(as: "ab\u{111C9}\u{1715}\u{898}"))
    #expect(normalized("ÀİΣẞ\u{10D50}", .lowercase).isSpelled(as: "ài\u{307}σß\u{10D70}"))
    #expect(normalized("ﬁ½\u{32FF}ᴬ", .form(isCompatible: true, composes: true)).isSpelled(as: "fi1\u{2044}2\u{32FF}A"))
    #expect(normalized("é", .form(isCompatible: false, composes: false)).isSpelled(as: "e\u{301}"))
    #expect(normalized("e\u{301}", .form(isCompatible: true, composes: true)).isSpelled(as: "é"))
    #expect(normalized("\u{1}a\t\u{200B}b\u{85}", .nmt).isSpelled(as: "a  b\u{85}"))
    #expect(normalized("\u{3000} a b\n", .strip(left: true, right: true)) == "a b")
    #expect(normalized("\u{3000}a ", .strip(left: false, right: true)) == "\u{3000}a")
  }

  @Test("a replacement of several scalars at the start is not at the start")
  func starts() throws {
    func isAtStart(_ text: String, _ steps: Normalizer.Step...) -> Bool {
      Normalizer(steps: steps).apply(Array(text.utf8), tracksStart: true).isAtStart
    }
    #expect(isAtStart("aab", .replace(pattern: Array("a".utf8), content: Array("x".utf8))))
    #expect(!isAtStart("aab", .replace(pattern: Array("aa".utf8), content: Array("x".utf8))))
    #expect(!isAtStart("aab", .replace(pattern: Array("a".utf8), content: [])))
    #expect(isAtStart("baa", .replace(pattern: Array("aa".utf8), content: [])))
    #expect(!isAtStart(" a", .strip(left: true, right: false)))
    #expect(isAtStart("a", .prepend(Array("x ".utf8)), .replaceMatches(try RegexProgram(parsing: "[x ]+"), content: [])))
    #expect(isAtStart("e", .precompiled(try CharacterMap(RobustnessTests.map))))
  }

  @Test("a file whose steps blow up a text is refused")
  func growth() throws {
    let doubling = Normalizer.Step.replace(pattern: Array("a".utf8), content: Array("aa".utf8))
    #expect(Normalizer(steps: Array(repeating: doubling, count: 24)).growth == 1 << 24)
    #expect(Normalizer(steps: Array(repeating: doubling, count: 90)).growth == Normalizer.growthLimit + 1)
  }

  @Test("character maps that lead astray are refused")
  func maps() throws {
    func reason(_ change: (inout [UInt8]) -> Void) -> String {
      var bytes = RobustnessTests.map
      change(&bytes)
      do throws(CharacterMap.Fault) {
        _ = try CharacterMap(bytes)
        return "none"
      } catch {
        return error.reason
      }
    }
    #expect(reason { _ in } == "none")
    #expect(reason { $0.removeLast() } == "its last replacement does not end")
    #expect(reason { $0[$0.count - 2] = 0xFF } == "its replacements are not UTF-8")
    #expect(reason { $0[4 + 4 * 0x80] = 200 } == "a key has no replacement")
    #expect(reason { $0[4 + 4 * 0x80] = 1 } == "a replacement starts within a scalar")
    #expect(reason { $0[4 + 4 * 0x65 + 3] = 0x7F } == "a state leads out of its array")
    #expect(
      reason { $0.insert(contentsOf: [UInt8](repeating: 0x61, count: 300), at: $0.count - 2) } == "a replacement has more than 256 bytes")
    #expect(reason { $0 = [] } == "it has 0 bytes")
  }

  @Test("numbers and base 64 are read like elsewhere")
  func numbers() {
    #expect(SerdeNumber.reading(-7.2747344970703125) == -7.274734497070312)
    #expect(SerdeNumber.reading(-7.3815436363220215) == -7.381543636322021)
    for value in [0, -0.5, 1, -12, 1e300, 0.1, 1e-7, -3.25e-12] as [Double] { #expect(SerdeNumber.reading(value) == value) }
    for count in 0..<20 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 200) }
      #expect(Base64.decoded(Base64.encoded(bytes).utf8) == bytes)
    }
    #expect(Base64.encoded(Array("light wor".utf8)) == "bGlnaHQgd29y")
    #expect(Base64.encoded(Array("light w".utf8)) == "bGlnaHQgdw==")
    for text in ["A", "A===", "AB=A", "A=A=", "!AAA", "AAA"] { #expect(Base64.decoded(text.utf8) == nil, "\(text)") }
  }
}
