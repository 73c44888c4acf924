package import DibitDataset

/// Turns the examples of a dataset, of either kind, into tokens.
package struct ExampleEncoder: Sendable {
  /// The format of labelled texts.
  package let task: TokenizedTask
  /// The format of conversations.
  package let format: ConversationFormat
  /// Tokens that are kept free for the answer of a labelled text: the longest answer's.
  package let reserve: Int

  /// An encoder for all of `examples`, whose longest answer decides how much of a long text is kept.
  package init(task: TokenizedTask, format: ConversationFormat, for examples: [DatasetExample]) {
    self.task = task
    self.format = format
    var lengths: [[String]: Int] = [:]
    var longest = 0
    for case .labelled(let example) in examples where lengths[example.labels] == nil {
      let length = task.answerCount(example.labels)
      lengths[example.labels] = length
      longest = max(longest, length)
    }
    reserve = longest
  }

  /// The tokens of an example.
  ///
  /// - Throws: ``TrainingError/tooLong(path:tokens:maximum:)`` when prompt and answer do not fit even without the text, or
  ///   ``TrainingError/conversation(_:)``.
  package func encode(_ example: DatasetExample) throws(TrainingError) -> TrainingExample {
    switch example {
    case .labelled(let labelled):
      let encoded = TrainingExample(labelled, task: task, reserving: reserve)
      guard encoded.tokens.count <= task.task.maximumTokens else {
        throw .tooLong(path: example.location, tokens: encoded.tokens.count, maximum: task.task.maximumTokens)
      }
      return encoded
    case .conversation(let conversation):
      do throws(ConversationError) {
        return TrainingExample(try format.encode(conversation), scaffoldingWeight: task.task.scaffoldingWeight)
      } catch { throw .conversation(error) }
    }
  }

  /// The tokens of many examples, in order, each of which counts as its labels say.
  package func encode(_ examples: [DatasetExample], weighing weights: ClassWeights = .equal) throws(TrainingError) -> [TrainingExample] {
    var encoded: [TrainingExample] = []
    encoded.reserveCapacity(examples.count)
    for example in examples { encoded.append(try encode(example)) }
    guard weights != .equal else { return encoded }
    for (index, importance) in weights.importances(of: examples.map(\.labels)).enumerated() { encoded[index].importance = importance }
    return encoded
  }
}
