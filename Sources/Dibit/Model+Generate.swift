internal import DibitDataset
package import DibitConstraint
internal import DibitInference
internal import DibitJSON
internal import DibitModel
internal import DibitModelStore
package import DibitTokenizer

extension Model {
  /// Answers a prompt, or goes on with it. The job tells each piece of text as soon as it is certain; its value is the whole.
  ///
  /// ```swift
  /// for try await piece in model.generate("Name three rivers.") { print(piece, terminator: "") }
  ///
  /// let schema = #"{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}"#
  /// let person = try await model.generate("Invent a person.", options: .init(format: .schema(schema))).value.text
  /// ```
  ///
  /// - Parameters:
  ///   - prompt: What is asked.
  ///   - adapter: An adapter of this model; nil for the model alone.
  ///   - options: How tokens are chosen, how many, and the form of the answer.
  /// - Returns: The job. It fails with ``DibitError`` where the prompt does not fit the model's context, or an answer of the form that was
  ///   asked for may not fit behind it.
  public func generate(_ prompt: Prompt, adapter: Adapter? = nil, options: Response.Options = Response.Options()) -> Job<String, Response> {
    Job(on: worker) { [stored, runtime] report in
      try check(adapter)
      let asked = try ModelPrompt(prompt, adapter: adapter?.tagger, model: stored)
      let constraint = try TokenConstraint(options.format, for: asked, stored.tokenizer)
      var session = Session(
        stored.configuration, weights: stored.weights, adapter: adapter?.loaded, on: runtime.compute(for: .writing))
      let generated = try session.generate(
        asked.tokens, tokenizer: stored.tokenizer, options: options.engineOptions(stopTokens: asked.endTokens), constraint: constraint,
        receive: { $0.isEmpty ? !report.isCancelled : report($0) }, reading: { _ in !report.isCancelled })
      return try Response(generated, asked)
    }
  }

  /// Refuses an adapter of another model.
  func check(_ adapter: Adapter?) throws(DibitError) {
    guard let adapter, adapter.model.stored.digest != stored.digest else { return }
    throw DibitError(.invalidArgument, "adapter '\(adapter.path)' belongs to '\(adapter.model.path)' and not to '\(path)'")
  }
}

extension Adapter {
  /// The description and the task that a prompt is put into; nil for an adapter that tags no texts.
  var tagger: (description: AdapterDescription, task: TokenizedTask)? {
    guard let description, let task else { return nil }
    return (description, task)
  }
}

extension Response {
  fileprivate init(_ generated: Generation, _ asked: ModelPrompt) throws(DibitError) {
    guard generated.finishReason != .interrupted else { throw .cancelled }
    self.init(
      text: generated.text, tokens: generated.tokens, promptTokens: asked.tokens.count, truncatedTokens: asked.truncatedTokens,
      end: generated.finishReason == .stop ? .stop : .length, stopString: generated.stopString)
  }
}

extension TokenConstraint {
  /// Makes the constraint that an answer must satisfy: the form that was asked for, otherwise the prompt's own; nil where there is neither.
  package convenience init?(_ format: Response.Format, for prompt: ModelPrompt, _ tokenizer: Tokenizer) throws(ConstraintError) {
    let constraint: Constraint
    switch format {
    case .schema(let schema): constraint = try Constraint(schema: schema)
    case .choices(let choices): constraint = try Constraint(choices: choices)
    case .text:
      guard let answer = prompt.answer else { return nil }
      constraint = try Constraint(schema: answer)
    }
    let known = prompt.endTokens.filter { $0 >= 0 && Int($0) < tokenizer.vocabularyCount }
    try self.init(constraint, vocabulary: TokenVocabulary(tokenizer, endTokens: known))
  }
}
