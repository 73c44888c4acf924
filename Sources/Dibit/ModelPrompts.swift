package import DibitDataset
package import DibitJSON
package import DibitModelStore
package import DibitTokenizer
package import DibitTraining

/// The forms in which a model can be asked: in the turns of its vocabulary, in its own chat template, or in plain lines.
package struct ModelPrompts: Sendable {
  /// The model's path.
  package let path: String
  private let tokenizer: Tokenizer
  private let chat: ChatSource?
  private let frame: ChatFrame?
  /// The reason for which there is no chat template that prompts can be put into; nil where the model has none either.
  package let fault: String?

  /// The prompts of a model.
  package init(_ model: StoredModel) throws { try self.init(model.path, tokenizer: model.tokenizer) }

  /// The prompts of the model at `path`.
  package init(_ path: String, tokenizer: Tokenizer) throws {
    (self.path, self.tokenizer) = (path, tokenizer)
    var (chat, frame, fault): (ChatSource?, ChatFrame?, String?) = (nil, nil, nil)
    do {
      let source = try ChatSource.open(path)
      chat = source
      frame = try source.template.map { try ChatFrame($0) }
    } catch ModelStoreError.chatTemplate(let reason, _) { fault = reason } catch let error as ChatFrameError { fault = "\(error)" }
    (self.chat, self.frame, self.fault) = (chat, frame, fault)
  }

  /// The form that prompts have unless the user chooses: the model's own where it has one that can be used.
  package func form(_ choice: AdapterTraining.PromptForm?) throws -> PromptForm {
    if choice == .plain { return .plain }
    if ChatTemplate(tokenizer).style == .turns { return .turns }
    if frame != nil { return .chat }
    guard choice == .chat else { return .plain }
    throw DibitError(
      .invalidData,
      "'\(path)': a chat template to put prompts into expected, \(fault.map { "found one that cannot be used: \($0)" } ?? "none found")",
      .plainPrompts)
  }

  /// The digest of the model's chat template; nil where it has none.
  package var digest: String? { chat?.digest }

  /// The digest of the chat template, for tasks that are put into it.
  package func templateDigest(for task: TaggingTask) -> String? { task.form == .chat ? chat?.digest : nil }

  /// Returns the members that the identity of a run has for the template that its prompts are put into.
  package func identity(of task: TaggingTask) -> [(key: String, value: JSONValue)] {
    templateDigest(for: task).map { [("chat_template_sha256", .string($0))] } ?? []
  }

  /// A task of any form; fails for a chat where this model has no template for one.
  package func tokenized(_ task: TaggingTask) throws -> TokenizedTask {
    guard task.form != .chat || frame != nil else {
      throw DibitError(
        .invalidData,
        "'\(path)': the chat template that prompts are put into expected, \(fault ?? "none found"): no such model can be asked")
    }
    return TokenizedTask(task, tokenizer: tokenizer, chat: frame)
  }

  /// The task of an adapter of this model.
  package func tokenized(_ description: AdapterDescription, of adapter: String) throws -> TokenizedTask {
    if let expected = description.templateDigest, expected != chat?.digest {
      let found = chat?.digest.map { String($0.prefix(12)) } ?? "none"
      throw DibitError(
        .invalidData,
        "adapter '\(adapter)' was trained in the chat template \(expected.prefix(12)) and '\(path)' has \(found): "
          + "put that template back, or train again")
    }
    return try tokenized(description.task)
  }

  /// Returns the encoder that turns examples of either kind into tokens.
  package func encoder(_ task: TaggingTask, for examples: [DatasetExample]) throws -> ExampleEncoder {
    // Only conversations cannot do without a template that is there.
    let speaks = examples.contains { $0.kind == .conversation }
    let format =
      speaks
      ? try conversationFormat(maximumTokens: task.maximumTokens)
      : ConversationFormat(tokenizer: tokenizer, jinja: chat?.template, maximumTokens: task.maximumTokens)
    return ExampleEncoder(task: try tokenized(task), format: format, for: examples)
  }

  /// The way in which conversations become tokens; fails where the model's template cannot be read.
  package func conversationFormat(maximumTokens: Int) throws -> ConversationFormat {
    let jinja = chat == nil ? try ChatSource.open(path).template : chat?.template
    return ConversationFormat(tokenizer: tokenizer, jinja: jinja, maximumTokens: maximumTokens)
  }
}
