public import Foundation

extension LanguageModelExecutorGenerationChannel.Event {
  /// A part of the answer.
  ///
  /// - Parameters:
  ///   - entryID: The identifier that the answer has in the transcript; nil for any.
  ///   - action: The thing that happens to the answer.
  /// - Returns: The event.
  public static func response(entryID: String? = nil, action: LanguageModelExecutorGenerationChannel.Response.Action) -> Self {
    Self(content: .response(LanguageModelExecutorGenerationChannel.Response(entryID: entryID, action: action)))
  }
}

extension LanguageModelExecutorGenerationChannel.Event {
  /// A part of calls of tools.
  ///
  /// - Parameters:
  ///   - entryID: The identifier that the calls have in the transcript; nil for any.
  ///   - action: The thing that happens to the calls.
  /// - Returns: The event.
  public static func toolCalls(entryID: String? = nil, action: LanguageModelExecutorGenerationChannel.ToolCalls.Action) -> Self {
    Self(content: .toolCalls(LanguageModelExecutorGenerationChannel.ToolCalls(entryID: entryID, action: action)))
  }
}

extension LanguageModelExecutorGenerationChannel.Event {
  /// A part of the thoughts before the answer.
  ///
  /// - Parameters:
  ///   - entryID: The identifier that the thoughts have in the transcript; nil for any.
  ///   - action: The thing that happens to the thoughts.
  /// - Returns: The event.
  public static func reasoning(entryID: String? = nil, action: LanguageModelExecutorGenerationChannel.Reasoning.Action) -> Self {
    Self(content: .reasoning(LanguageModelExecutorGenerationChannel.Reasoning(entryID: entryID, action: action)))
  }
}

extension LanguageModelExecutorGenerationChannel.Response.Action {
  /// Lets a segment go on.
  ///
  /// - Parameters:
  ///   - text: The text behind the text so far.
  ///   - segmentID: The segment, a new one where there is none of this identifier; nil for the last one.
  ///   - tokenCount: The tokens of the text.
  /// - Returns: The action.
  public static func appendText(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Self {
    Self(
      operation: .appendText(
        LanguageModelExecutorGenerationChannel.TextFragment(content: text, segmentID: segmentID, tokenCount: tokenCount)))
  }

  /// Gives a segment another text.
  ///
  /// - Parameters:
  ///   - text: The text instead of the text so far.
  ///   - segmentID: The segment, a new one where there is none of this identifier; nil for the last one.
  ///   - tokenCount: The tokens of the text.
  /// - Returns: The action.
  public static func replaceTextSegment(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Self {
    Self(
      operation: .replaceTextSegment(
        LanguageModelExecutorGenerationChannel.TextSegmentReplacement(content: text, segmentID: segmentID, tokenCount: tokenCount)))
  }

  #if FoundationModels27
    /// Puts a thing beside the words, in place of one of the same identifier where there is one.
    ///
    /// - Parameter segment: The thing.
    /// - Returns: The action.
    public static func addAttachmentSegment(_ segment: Transcript.AttachmentSegment) -> Self {
      Self(operation: .addAttachmentSegment(segment))
    }

    /// Takes a thing beside the words back.
    ///
    /// - Parameter id: Its identifier.
    /// - Returns: The action.
    public static func removeAttachmentSegment(id: String) -> Self { Self(operation: .removeAttachmentSegment(id: id)) }
  #endif

  /// Puts values beside the answer in the place of those that are there.
  ///
  /// - Parameter values: The values by their keys.
  /// - Returns: The action.
  public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent]) -> Self {
    Self(operation: .updateMetadata(LanguageModelExecutorGenerationChannel.Metadata(values: values.contents)))
  }

  /// Tells the tokens of the step, all together so far. Those of later events are added to them.
  ///
  /// - Parameters:
  ///   - input: Tokens that the model had before it.
  ///   - output: Tokens that the model made.
  ///   - metadata: Values that somebody wants to keep with the counts.
  /// - Returns: The action.
  public static func updateUsage(
    input: LanguageModelExecutorGenerationChannel.Usage.Input, output: LanguageModelExecutorGenerationChannel.Usage.Output,
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) -> Self {
    Self(operation: .updateUsage(LanguageModelExecutorGenerationChannel.Usage(input: input, output: output, metadata: metadata)))
  }
}

extension LanguageModelExecutorGenerationChannel.Reasoning.Action {
  /// Lets a segment go on.
  ///
  /// - Parameters:
  ///   - text: The text behind the text so far.
  ///   - segmentID: The segment, a new one where there is none of this identifier; nil for the last one.
  ///   - tokenCount: The tokens of the text.
  /// - Returns: The action.
  public static func appendText(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Self {
    Self(
      operation: .appendText(
        LanguageModelExecutorGenerationChannel.TextFragment(content: text, segmentID: segmentID, tokenCount: tokenCount)))
  }

  /// Gives a segment another text.
  ///
  /// - Parameters:
  ///   - text: The text instead of the text so far.
  ///   - segmentID: The segment, a new one where there is none of this identifier; nil for the last one.
  ///   - tokenCount: The tokens of the text.
  /// - Returns: The action.
  public static func replaceTextSegment(_ text: String, segmentID: String? = nil, tokenCount: Int) -> Self {
    Self(
      operation: .replaceTextSegment(
        LanguageModelExecutorGenerationChannel.TextSegmentReplacement(content: text, segmentID: segmentID, tokenCount: tokenCount)))
  }

  /// Signs the thoughts.
  ///
  /// - Parameters:
  ///   - signature: The bytes.
  ///   - tokenCount: The tokens of the thoughts that no event told.
  /// - Returns: The action.
  public static func updateSignature(_ signature: Data, tokenCount: Int) -> Self {
    Self(
      operation: .updateSignature(LanguageModelExecutorGenerationChannel.ReasoningSignature(signature: signature, tokenCount: tokenCount)))
  }

  /// Puts values beside the thoughts in the place of those that are there.
  ///
  /// - Parameter values: The values by their keys.
  /// - Returns: The action.
  public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent]) -> Self {
    Self(operation: .updateMetadata(LanguageModelExecutorGenerationChannel.Metadata(values: values.contents)))
  }

  /// Tells the tokens of the step, all together so far. Those of later events are added to them.
  ///
  /// - Parameters:
  ///   - input: Tokens that the model had before it.
  ///   - output: Tokens that the model made.
  ///   - metadata: Values that somebody wants to keep with the counts.
  /// - Returns: The action.
  public static func updateUsage(
    input: LanguageModelExecutorGenerationChannel.Usage.Input, output: LanguageModelExecutorGenerationChannel.Usage.Output,
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) -> Self {
    Self(operation: .updateUsage(LanguageModelExecutorGenerationChannel.Usage(input: input, output: output, metadata: metadata)))
  }
}

extension LanguageModelExecutorGenerationChannel.ToolCalls.Action {
  /// Lets something happen to one call.
  ///
  /// - Parameters:
  ///   - id: The identifier of the call.
  ///   - name: The name of the tool.
  ///   - action: The thing that happens to the call.
  /// - Returns: The action.
  public static func toolCall(id: String, name: String, action: LanguageModelExecutorGenerationChannel.ToolCalls.ToolCall.Action) -> Self {
    Self(operation: .toolCall(LanguageModelExecutorGenerationChannel.ToolCalls.ToolCall(id: id, name: name, action: action)))
  }

  /// Takes a call back.
  ///
  /// - Parameter id: The identifier of the call.
  /// - Returns: The action.
  public static func removeToolCall(id: String) -> Self { Self(operation: .removeToolCall(id: id)) }

  /// Puts values beside the calls in the place of those that are there.
  ///
  /// - Parameter values: The values by their keys.
  /// - Returns: The action.
  public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent]) -> Self {
    Self(operation: .updateMetadata(LanguageModelExecutorGenerationChannel.Metadata(values: values.contents)))
  }

  /// Tells the tokens of the step, all together so far. Those of later events are added to them.
  ///
  /// - Parameters:
  ///   - input: Tokens that the model had before it.
  ///   - output: Tokens that the model made.
  ///   - metadata: Values that somebody wants to keep with the counts.
  /// - Returns: The action.
  public static func updateUsage(
    input: LanguageModelExecutorGenerationChannel.Usage.Input, output: LanguageModelExecutorGenerationChannel.Usage.Output,
    metadata: [String: any ConvertibleToGeneratedContent] = [:]
  ) -> Self {
    Self(operation: .updateUsage(LanguageModelExecutorGenerationChannel.Usage(input: input, output: output, metadata: metadata)))
  }
}

extension LanguageModelExecutorGenerationChannel.ToolCalls.ToolCall.Action {
  /// Lets the arguments go on.
  ///
  /// - Parameters:
  ///   - content: The text behind the JSON so far.
  ///   - tokenCount: The tokens of the text.
  /// - Returns: The action.
  public static func appendArguments(_ content: String, tokenCount: Int) -> Self {
    Self(
      operation: .appendArguments(
        LanguageModelExecutorGenerationChannel.ToolCalls.ToolCall.ArgumentsFragment(content: content, tokenCount: tokenCount)))
  }

  /// Puts values beside the call in the place of those that are there.
  ///
  /// - Parameter values: The values by their keys.
  /// - Returns: The action.
  public static func updateMetadata(_ values: [String: any ConvertibleToGeneratedContent]) -> Self {
    Self(operation: .updateMetadata(LanguageModelExecutorGenerationChannel.Metadata(values: values.contents)))
  }
}
