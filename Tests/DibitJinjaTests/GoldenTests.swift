internal import DibitJSON
internal import DibitJinja
internal import Foundation
internal import Testing

/// Templates in the manner of published ones with the texts that transformers 5.23 (Jinja 3.1.6) renders for them; null where it fails.
struct Golden: CustomTestStringConvertible {
  struct Case {
    let context: [(String, JSONValue)]
    let text: String?
  }

  let name: String
  let template: String
  let cases: [Case]
  var testDescription: String { name }

  static let all: [Golden] = {
    let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Goldens/templates.json")
    guard let data = try? Data(contentsOf: url), let entries = try? JSONValue(parsing: data).array else { return [] }
    return entries.compactMap { entry in
      guard let name = entry["name"]?.string, let template = entry["template"]?.string, let cases = entry["cases"]?.array else {
        return nil
      }
      return Golden(
        name: name, template: template,
        cases: cases.map { Case(context: ($0["context"]?.object?.members ?? []).map { ($0.key, $0.value) }, text: $0["text"]?.string) })
    }
  }()
}

let clock = JinjaClock(year: 2026, month: 7, day: 4, hour: 15, minute: 5, second: 9)

@Suite struct GoldenTests {
  @Test func allAreThere() { #expect(Golden.all.count == 28) }

  @Test(arguments: Golden.all) func rendersAsTransformersDoes(golden: Golden) throws {
    let template = try JinjaTemplate(parsing: golden.template)
    for example in golden.cases {
      guard let text = example.text else {
        #expect(throws: JinjaError.self) { try template.render(example.context, clock: clock) }
        continue
      }
      let rendered = try template.render(example.context, clock: clock)
      #expect(rendered.utf8.elementsEqual(text.utf8), "\(rendered) instead of \(text)")
    }
  }

  /// Twenty thousand damaged templates: each gives a text or an error.
  @Test func mutationsNeverTrap() {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    func random(_ bound: Int) -> Int {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return Int(state % UInt64(max(1, bound)))
    }
    let pieces = [
      "{%", "%}", "{{", "}}", "-", "(", ")", "[", "]", "|", "'", " not ", " if ", " else ", ".", ":", "*", "9", "~", "é", "\u{0}", "loop",
      " is ",
    ]
    var limits = JinjaLimits()
    limits.operations = 10_000
    limits.outputBytes = 1 << 16
    var (texts, errors) = (0, 0)
    let sources = Golden.all.map { (Array($0.template.unicodeScalars.prefix(250)), $0.cases[0].context) }
    guard !sources.isEmpty else { return }
    for _ in 0..<20_000 {
      var (scalars, context) = sources[random(sources.count)]
      for _ in 0...random(3) {
        let start = random(scalars.count)
        switch random(3) {
        case 0: scalars.removeSubrange(start..<min(scalars.count, start + 1 + random(6)))
        case 1: scalars.insert(contentsOf: Array(pieces[random(pieces.count)].unicodeScalars), at: start)
        default:
          let other = random(scalars.count)
          scalars.insert(contentsOf: Array(scalars[other..<min(scalars.count, other + random(20))]), at: start)
        }
      }
      var view = String.UnicodeScalarView()
      view.append(contentsOf: scalars)
      if failure(String(view), context, limits: limits) == nil { texts += 1 } else { errors += 1 }
    }
    #expect(texts > 0 && errors > 0)
  }
}
