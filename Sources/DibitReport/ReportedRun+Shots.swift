package import DibitJSON

extension ReportedRun {
  /// The answered examples before each text of a few-shot prompt.
  package struct Shots: Equatable, Sendable {
    /// The number that was asked for and could be had.
    package var asked: Int
    /// The number of examples that there are: as many as fit into the model's context.
    package var examples: Int
    /// Of how many the text was cut.
    package var cutExamples: Int
    /// Tokens of all of them.
    package var tokens: Int
    /// The most tokens that the model takes.
    package var context: Int
    /// Texts that were cut to fit behind them.
    package var cutTexts: Int

    /// Known values.
    package init(asked: Int, examples: Int, cutExamples: Int, tokens: Int, context: Int, cutTexts: Int) {
      (self.asked, self.examples, self.cutExamples) = (asked, examples, cutExamples)
      (self.tokens, self.context, self.cutTexts) = (tokens, context, cutTexts)
    }

    /// The values under the names that reports give them.
    package var json: JSONValue {
      [
        "asked": .integer(asked), "examples": .integer(examples), "cut_examples": .integer(cutExamples), "tokens": .integer(tokens),
        "context": .integer(context), "cut_texts": .integer(cutTexts),
      ]
    }

    /// Reads what ``json`` wrote; nil for anything else.
    package init?(json: JSONValue) { try? self.init(ReportReader(json)) }

    init(_ reader: ReportReader) throws(ReportError) {
      let shots = try reader.members()
      self.init(
        asked: try shots.required("asked").count(), examples: try shots.required("examples").count(),
        cutExamples: try shots.required("cut_examples").count(), tokens: try shots.required("tokens").count(),
        context: try shots.required("context").count(), cutTexts: try shots.required("cut_texts").count())
    }

    /// Notes on what the prompt had to leave out, in sentences for people.
    package var notes: [HygieneNote] {
      var notes: [HygieneNote] = []
      if examples < asked {
        notes.append(
          HygieneNote(
            .truncated, count: asked - examples,
            "The few-shot prompt has \(examples) of \(asked) examples: more do not fit into the model's context of \(context) tokens."))
      }
      if cutExamples > 0 {
        let lost = "\(cutExamples == 1 ? "is" : "are") too long and lost a part"
        notes.append(
          HygieneNote(.truncated, count: cutExamples, "\(cutExamples) of the \(examples) examples in the few-shot prompt \(lost)."))
      }
      if cutTexts > 0 {
        let were = cutTexts == 1 ? "text was" : "texts were"
        notes.append(HygieneNote(.truncated, count: cutTexts, "\(cutTexts) \(were) cut to fit behind the few-shot prompt."))
      }
      return notes
    }
  }
}
