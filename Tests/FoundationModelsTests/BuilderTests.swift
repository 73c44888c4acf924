import Testing

@testable import FoundationModels

/// A value that says itself in one line, in prompts and in instructions.
private struct Tone: PromptRepresentable, InstructionsRepresentable {
  var name: String
  var promptRepresentation: Prompt { "Tone: \(name)" }
  var instructionsRepresentation: Instructions { "Tone: \(name)" }
}

/// A value that says itself in several lines, some of which depend on it.
private struct Request: PromptRepresentable {
  var question: String
  var hints: [String] = []
  var promptRepresentation: Prompt {
    question
    if !hints.isEmpty {
      "Hints:"
      for hint in hints { "- \(hint)" }
    }
  }
}

/// A function of a client that takes a block, as those of sessions do.
private func built(@PromptBuilder _ prompt: () throws -> Prompt) rethrows -> Prompt { try prompt() }

private struct Refusal: Error, Equatable {}

@Suite struct BuilderTests {
  @Test func linesComeOneUnderTheOther() {
    let prompt = Prompt {
      "Name three rivers."
      "Answer in one line."
    }
    #expect(prompt.text == "Name three rivers.\nAnswer in one line.")
    #expect(prompt.segments.count == 1)
  }

  @Test func oneTextIsOneSegment() {
    #expect(Prompt("Hello").segments.count == 1)
    #expect(Prompt("Hello").text == "Hello")
    #expect(Instructions("Hello").text == "Hello")
    #expect(Prompt { "Hello" }.text == "Hello")
  }

  @Test func emptyBlocksHaveNoSegments() {
    #expect(Prompt {}.segments.isEmpty)
    #expect(Prompt {}.text == "")
    #expect(Instructions {}.segments.isEmpty)
  }

  @Test func emptyTextsAreEmptyLines() {
    let prompt = Prompt {
      "a"
      ""
      "b"
    }
    #expect(prompt.text == "a\n\nb")
  }

  @Test(arguments: [true, false]) func branchesAreTaken(isBrief: Bool) {
    let prompt = Prompt {
      "Name three rivers."
      if isBrief { "Be brief." } else { Tone(name: "warm") }
    }
    #expect(prompt.text == "Name three rivers.\n" + (isBrief ? "Be brief." : "Tone: warm"))
  }

  @Test(arguments: [true, false]) func optionalBranchesMayBeMissing(isBrief: Bool) {
    let prompt = Prompt {
      "Name three rivers."
      if isBrief {
        "Be brief."
        "One line."
      }
    }
    #expect(prompt.text == (isBrief ? "Name three rivers.\nBe brief.\nOne line." : "Name three rivers."))
  }

  @Test func optionalBindingsAndSwitches() {
    func prompt(_ name: String?, _ count: Int) -> Prompt {
      Prompt {
        if let name { "For \(name)." }
        switch count {
        case 0: "None."
        case 1: Tone(name: "single")
        default:
          "Many."
          "\(count)"
        }
      }
    }
    #expect(prompt(nil, 0).text == "None.")
    #expect(prompt("Ada", 1).text == "For Ada.\nTone: single")
    #expect(prompt("Ada", 7).text == "For Ada.\nMany.\n7")
  }

  @Test func loopsJoinTheirTurns() {
    let prompt = Prompt {
      "Rivers:"
      for name in ["Elbe", "Oder"] {
        "- \(name)"
        if name == "Oder" { "  (border)" }
      }
    }
    #expect(prompt.text == "Rivers:\n- Elbe\n- Oder\n  (border)")
    #expect(prompt.segments.count == 1)
  }

  @Test func availabilityIsABranch() {
    let prompt = Prompt {
      if #available(macOS 26.4, iOS 26.4, *) { "new" } else { Tone(name: "old") }
      if #available(macOS 27, *) { Tone(name: "newer") }
    }
    #expect(prompt.text == "new\nTone: newer")
  }

  @Test func arraysAndPromptsAreParts() {
    let rules = ["Be kind.", "Be brief."]
    let end = Prompt("End.")
    let prompt = Prompt {
      rules
      Request(question: "Which river?", hints: ["long"])
      [Tone(name: "warm"), Tone(name: "dry")]
      end
      Prompt { "Nested." }
    }
    #expect(prompt.text == "Be kind.\nBe brief.\nWhich river?\nHints:\n- long\nTone: warm\nTone: dry\nEnd.\nNested.")
    #expect(Prompt(rules).text == "Be kind.\nBe brief.")
  }

  @Test func structuresStandBetweenTexts() throws {
    let river = try GeneratedContent(json: #"{"name": "Elbe"}"#)
    let prompt = Prompt {
      "Before."
      "Still before."
      river
      "After."
    }
    try #require(prompt.segments.count == 3)
    guard case .structure(let segment) = prompt.segments[1] else {
      Issue.record("expected a structure, found \(prompt.segments[1])")
      return
    }
    #expect(segment.content == river)
    #expect(prompt.text == "Before.\nStill before.\n{\"name\": \"Elbe\"}\nAfter.")
    let instructions = Instructions {
      "Before."
      river
    }
    #expect(instructions.segments.count == 2)
    #expect(instructions.text == "Before.\n{\"name\": \"Elbe\"}")
  }

  @Test func joiningKeepsIdentifiers() {
    let text = Transcript.Segment.text(Transcript.TextSegment(id: "a", content: "one"))
    let more = Transcript.Segment.text(Transcript.TextSegment(id: "b", content: "two"))
    #expect(Prompt { Prompt(segments: [text, more]) }.segments == [text, more])
    let joined = Prompt {
      Prompt(segments: [text])
      Prompt(segments: [more])
    }
    #expect(joined.segments == [.text(Transcript.TextSegment(id: "a", content: "one\ntwo"))])
  }

  @Test func blocksMayThrow() throws {
    #expect(throws: Refusal.self) { try Prompt { throw Refusal() } }
    #expect(throws: Refusal.self) { try Instructions { throw Refusal() } }
    #expect(try built { try line(throwing: false) }.text == "line")
    #expect(throws: Refusal.self) { try built { try line(throwing: true) } }
    #expect(built { "plain" }.text == "plain")
  }

  private func line(throwing: Bool) throws -> String {
    if throwing { throw Refusal() }
    return "line"
  }

  @Test func instructionsAreBuiltAlike() {
    func instructions(_ isBrief: Bool, _ topic: String?, _ rules: [String]) -> Instructions {
      Instructions {
        "You are a guide."
        if isBrief { "Be brief." } else { Tone(name: "warm") }
        if let topic { "Speak of \(topic)." }
        for rule in rules { "- \(rule)" }
        if #available(macOS 27, *) { "newer" }
        rules
      }
    }
    #expect(instructions(true, nil, []).text == "You are a guide.\nBe brief.\nnewer")
    #expect(instructions(false, "rivers", ["a", "b"]).text == "You are a guide.\nTone: warm\nSpeak of rivers.\n- a\n- b\nnewer\na\nb")
    #expect(Instructions(["a", "b"]).text == "a\nb")
    #expect(Instructions(Tone(name: "dry")).text == "Tone: dry")
  }

  @Test func valuesOfAnyTypeOpen() {
    let values: [any PromptRepresentable] = ["a", Tone(name: "b"), Prompt("c")]
    #expect(values.map { Prompt($0).text } == ["a", "Tone: b", "c"])
  }
}
