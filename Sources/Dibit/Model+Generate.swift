package import DibitConstraint
internal import DibitInference
package import DibitJSON
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
    Job(on: worker) { [stored, runtime, turns = worker.turns] report in
      try check(adapter)
      let asked = try ModelPrompt(prompt, adapter: adapter?.opened.tagger, model: stored)
      let constraint = try runtime.constraints.constraint(
        options.format, otherwise: asked.answer, endTokens: asked.endTokens, stored.tokenizer)
      var session = Session(
        stored.configuration, weights: stored.weights, adapter: adapter?.opened.loaded, on: runtime.compute(for: .writing))
      let generated = try session.generate(
        asked.tokens, tokenizer: stored.tokenizer, options: options.engineOptions(stopTokens: asked.endTokens), constraint: constraint,
        receive: { piece in
          turns.yield()
          return piece.isEmpty ? !report.isCancelled : report(piece)
        }, reading: { _ in !report.isCancelled })
      return try Response(
        generated, promptTokens: asked.tokens.count, readTokens: asked.tokens.count, truncatedTokens: asked.truncatedTokens)
    }
  }

  /// Refuses an adapter of another model.
  func check(_ adapter: Adapter?) throws(DibitError) {
    guard let adapter, adapter.model.stored.digest != stored.digest else { return }
    throw DibitError(.invalidArgument, "adapter '\(adapter.path)' belongs to '\(adapter.model.path)' and not to '\(path)'")
  }
}

extension Response {
  /// Takes what a session made behind a prompt of so many tokens.
  init(_ generated: Generation, promptTokens: Int, readTokens: Int, truncatedTokens: Int = 0) throws(DibitError) {
    guard generated.finishReason != .interrupted else { throw .cancelled }
    self.init(
      text: generated.text, tokens: generated.tokens, promptTokens: promptTokens, readTokens: readTokens, truncatedTokens: truncatedTokens,
      end: generated.finishReason == .stop ? .stop : .length, stopString: generated.stopString)
  }
}

extension TokenConstraint {
  /// Makes the constraint that an answer must satisfy: the form that was asked for, otherwise the schema of a prompt; nil where there is
  /// neither.
  package convenience init?(
    _ format: Response.Format, otherwise schema: JSONValue? = nil, endTokens: Set<Int32>, _ tokenizer: Tokenizer
  ) throws(ConstraintError) {
    guard let constraint = try Constraint(format, otherwise: schema) else { return nil }
    try self.init(constraint, vocabulary: TokenVocabulary(tokenizer, endTokens: tokenizer.known(endTokens)))
  }
}

extension Constraint {
  /// Makes the constraint of a form, otherwise of a schema; nil where there is neither.
  init?(_ format: Response.Format, otherwise schema: JSONValue?) throws(ConstraintError) {
    switch format {
    case .schema(let schema): try self.init(schema: schema)
    case .choices(let choices): try self.init(choices: choices)
    case .text:
      guard let schema else { return nil }
      try self.init(schema: schema)
    }
  }
}

extension Tokenizer {
  /// Leaves out what is no token.
  func known(_ tokens: Set<Int32>) -> Set<Int32> { tokens.filter { $0 >= 0 && Int($0) < vocabularyCount } }
}
