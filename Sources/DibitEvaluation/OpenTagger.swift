internal import DibitConstraint
internal import DibitDataset
package import DibitInference
package import DibitJSON
package import DibitKernels
internal import DibitModel
package import DibitTokenizer

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
    /// The part of a text that goes first where it is too long.
    package var cut = TextShortening.tail

    /// Guided, up to 8 tags.
    package init() {}
  }

  private let subject: EvaluationSubject
  private let options: Options
  private let constraint: TokenConstraint?
  private let generation: GenerationOptions
  private let reserve: Int
  private var writer: BatchWriter

  /// A tagger of `subject`. `labels` are the only tags where there are some.
  ///
  /// - Throws: ``EvaluationError/constraint`` when the vocabulary cannot spell such answers.
  package init(_ subject: EvaluationSubject, options: Options = Options(), labels: [String]? = nil, on compute: Compute)
    throws(EvaluationError)
  {
    self.subject = subject
    self.options = options
    let task = subject.task
    reserve = min(options.maximumTokens, subject.model.configuration.contextLength / 2)
    writer = BatchWriter(
      subject.model, context: subject.shots.count + task.task.maximumTokens + options.maximumTokens, on: compute)
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
    var found: Result<OpenAnswer, EvaluationError>?
    predict([text]) { _, result in
      found = result
      return true
    }
    guard let found else { throw .interrupted }
    return try found.get()
  }

  /// Answers texts side by side; `receive` is told the number of a text and its answer, in any order, and stops by returning false.
  package mutating func predict(
    _ texts: some Sequence<String>, receive: (_ index: Int, _ answer: Result<OpenAnswer, EvaluationError>) -> Bool
  ) {
    var iterator = texts.makeIterator()
    var truncated: [Int] = []
    let task = subject.task
    writer.write(
      sharing: subject.commonStart(cut: options.cut), tokenizer: task.tokenizer, options: generation, constraint: constraint
    ) {
      guard let text = iterator.next() else { return nil }
      let prompt = subject.prompt(text, reserving: reserve, cut: options.cut)
      truncated.append(prompt.truncatedTokens)
      return prompt.tokens
    } receive: { index, result in
      receive(
        index,
        result.map { answer in
          OpenAnswer(
            text: answer.text, tags: OpenAnswer.tags(in: answer.text, key: task.task.key), tokens: answer.tokens.count,
            finishReason: answer.finishReason, truncatedTokens: truncated[index])
        }.mapError { .inference($0) })
    }
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
