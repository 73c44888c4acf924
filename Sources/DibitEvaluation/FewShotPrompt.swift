package import DibitDataset
internal import DibitTensor

/// Examples that stand before a prompt, asked and answered as the prompt will be: what a base model can do without training.
package struct FewShotPrompt: Equatable, Sendable {
  /// The tokens before each prompt, the text's beginning included; none where no example fits.
  package let tokens: [Int32]
  /// The examples in the order in which they stand, as indices among those they were drawn from.
  package let examples: [Int]
  /// The number of examples that were asked for and could be had, whether they fit or not.
  package let asked: Int
  /// Examples whose text was cut.
  package let truncated: Int

  /// Draws up to `shots` examples, as many of one label as of another or one more, and takes those that fit as they are into `share` of the
  /// task's most tokens; where not one does, the first is cut to that.
  ///
  /// An example's label is the first that it carries; its answer has all of them. The same seed draws the same examples in the same order,
  /// and of fewer shots the draw is not a part of that of more.
  package init(_ examples: [LabelledExample], shots: Int, task: TokenizedTask, share: Double = 0.6, seed: UInt64) {
    var rng = SplitMix64(seed: seed, purpose: "evaluation.shots")
    let drawn = Self.draw(examples, shots, &rng)
    asked = drawn.count
    let limit = Int(Double(task.task.maximumTokens) * min(max(share, 0), 1))
    // Only the first begins the text.
    let beginning = task.beginning
    var fitting: [(example: Int, tokens: [Int32], isCut: Bool)] = []
    var used = beginning.count
    for example in drawn {
      var encoded = task.encode(examples[example], reserving: 0)
      if fitting.isEmpty, encoded.tokens.count + task.following.count > limit {
        var shorter = task.task
        shorter.maximumTokens = max(1, limit - task.following.count)
        encoded = task.replacing(shorter).encode(examples[example], reserving: 0)
      }
      let own = encoded.tokens.starts(with: beginning) ? encoded.tokens.dropFirst(beginning.count) : encoded.tokens[...]
      let tokens = own + task.following
      guard used + tokens.count <= limit else { break }
      used += tokens.count
      fitting.append((example, Array(tokens), encoded.truncatedTokens > 0))
    }
    rng.shuffle(&fitting)
    tokens = fitting.isEmpty ? [] : beginning + fitting.flatMap(\.tokens)
    self.examples = fitting.map(\.example)
    truncated = fitting.count { $0.isCut }
  }

  /// Labels in a drawn order, one example of each in turn.
  private static func draw(_ examples: [LabelledExample], _ shots: Int, _ rng: inout SplitMix64) -> [Int] {
    var members: [[UInt8]: [Int]] = [:]
    for (index, example) in examples.enumerated() {
      guard let label = example.labels.first else { continue }
      members[Array(label.utf8), default: []].append(index)
    }
    var labels = members.keys.sorted { $0.lexicographicallyPrecedes($1) }
    rng.shuffle(&labels)
    for label in labels { rng.shuffle(&members[label, default: []]) }
    var drawn: [Int] = []
    var round = 0
    while drawn.count < shots, round < members.values.map(\.count).max() ?? 0 {
      for label in labels where drawn.count < shots {
        guard let some = members[label], round < some.count else { continue }
        drawn.append(some[round])
      }
      round += 1
    }
    return drawn
  }
}
