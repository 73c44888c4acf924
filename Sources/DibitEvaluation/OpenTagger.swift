package import DibitDataset
package import DibitInference
internal import DibitConstraint
package import DibitJSON
internal import DibitTokenizer

/// An answer that the model wrote word for word.
package struct OpenAnswer: Equatable, Sendable {
  /// The text that it wrote.
  package let text: String
  /// The tags in their order, without repetition; nil where the text is no object that has a list of strings under the task's key.
  package let tags: [String]?
  /// Tokens of the answer.
  package let tokens: Int
  /// The reason for which it ended.
  package let finishReason: FinishReason
  /// Tokens of the prompt's text that were cut off to fit.
  package let truncatedTokens: Int

  /// True where the answer can be read.
  package var isParsable: Bool { tags != nil }

  /// The tags of an answer in JSON, `{"topics": ["a", "b"]}`; nil where it is something else. Other keys do not matter; white space around
  /// the object does not either.
  package static func tags(in text: String, key: String) -> [String]? {
    guard let value = try? JSONValue(parsing: text), let list = value[key]?.array else { return nil }
    var tags: [String] = []
    var seen: Set<[UInt8]> = []
    for item in list {
      guard let tag = item.string else { return nil }
      if seen.insert(Array(tag.utf8)).inserted { tags.append(tag) }
    }
    return tags
  }
}

extension [OpenAnswer] {
  /// The share of answers that cannot be read; 0 where there is none.
  package var unparsableShare: Double { isEmpty ? 0 : Double(count { !$0.isParsable }) / Double(count) }
}

/// Asks for tags that no list names: the model writes them, guided so that the answer is JSON of the task's form, or freely.
package struct OpenTagger: ~Copyable {
  /// The limits of an answer.
  package struct Options: Equatable, Sendable {
    /// True to keep tokens from the answer that break its form. Free answers may be unreadable: see ``OpenAnswer/isParsable``.
    package var isGuided = true
    /// The most tags.
    package var mostTags = 8
    /// The most characters of a tag.
    package var longestTag = 60
    /// The most tokens of an answer.
    package var maximumTokens = 128

    /// Guided, up to 8 tags.
    package init() {}
  }

  private let task: TokenizedTask
  private let options: Options
  private let constraint: TokenConstraint?
  private let generation: GenerationOptions
  private var session: Session

  /// A tagger over `session`, which it takes over. `labels` are the only tags where there are some.
  ///
  /// - Throws: ``EvaluationError/constraint`` when the vocabulary cannot spell such answers.
  package init(task: TokenizedTask, session: consuming Session, options: Options = Options(), labels: [String]? = nil)
    throws(EvaluationError)
  {
    self.task = task
    self.options = options
    self.session = session
    let stopTokens = Set(task.stopTokens).filter { $0 >= 0 && Int($0) < task.tokenizer.vocabularyCount }
    var generation = GenerationOptions()
    (generation.maximumTokens, generation.stopTokens) = (options.maximumTokens, stopTokens)
    self.generation = generation
    guard options.isGuided else {
      constraint = nil
      return
    }
    do throws(ConstraintError) {
      constraint = try TokenConstraint(
        Constraint(
          schema: Self.answerSchema(
            key: task.task.key, mostTags: options.mostTags, labels: labels, longestTag: options.longestTag,
            allowsNone: task.task.allowsNone)),
        vocabulary: TokenVocabulary(task.tokenizer, endTokens: stopTokens))
    } catch { throw .constraint("\(error)") }
  }

  /// The answer for a text: greedy, so that it is the same each time.
  package mutating func predict(_ text: String) throws(EvaluationError) -> OpenAnswer {
    let prompt = task.prompt(text, reserving: min(options.maximumTokens, session.context / 2))
    session.rewind()
    do throws(InferenceError) {
      let result = try session.generate(prompt.tokens, tokenizer: task.tokenizer, options: generation, constraint: constraint)
      return OpenAnswer(
        text: result.text, tags: OpenAnswer.tags(in: result.text, key: task.task.key), tokens: result.tokens.count,
        finishReason: result.finishReason, truncatedTokens: prompt.truncatedTokens)
    } catch { throw .inference(error) }
  }

  /// The JSON Schema of an answer: one to `mostTags` tags under the key, or none where `allowsNone` says so, each of `labels` where there are some;
  /// `repeats` says whether one may come again.
  package static func answerSchema(
    key: String, mostTags: Int, labels: [String]?, longestTag: Int = 60, repeats: Bool = true, allowsNone: Bool = false
  ) -> JSONValue {
    let item: JSONValue =
      if let labels {
        ["enum": .array(labels.map { .string($0) })]
      } else {
        ["type": "string", "minLength": 1, "maxLength": .integer(longestTag)]
      }
    var list = JSONObject([
      (key: "type", value: "array"), (key: "items", value: item), (key: "minItems", value: allowsNone ? 0 : 1),
      (key: "maxItems", value: .integer(max(1, mostTags))),
    ])
    if !repeats { list["uniqueItems"] = true }
    return [
      "type": "object", "properties": .object(JSONObject([(key: key, value: .object(list))])), "required": .array([.string(key)]),
      "additionalProperties": false,
    ]
  }
}
