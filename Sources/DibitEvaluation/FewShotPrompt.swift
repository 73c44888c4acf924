public import DibitDataset
internal import DibitTensor

/// Examples that stand before a prompt, asked and answered as the prompt will be: what a base model can do without training.
public struct FewShotPrompt: Equatable, Sendable {
  /// The tokens before each prompt, the text's beginning included; none where no example fits.
  public let tokens: [Int32]
  /// The examples in the order in which they stand, as places among those they were drawn from.
  public let examples: [Int]
  /// Examples whose text was cut to its share of the room.
  public let truncated: Int

  /// Draws up to `shots` examples, as many of one label as of another or one more, and cuts them to their room: `share` of the task's most
  /// tokens. Fewer are taken where not even an empty text would fit so often.
  ///
  /// An example's label is the first that it carries; its answer has all of them. The same seed draws the same examples in the same order,
  /// and of fewer shots the draw is not a part of that of more.
  public init(_ examples: [LabelledExample], shots: Int, task: TokenizedTask, share: Double = 0.6, seed: UInt64) {
    let drawn = Self.draw(examples, shots, seed)
    let room = Int(Double(task.task.maximumTokens) * min(max(share, 0), 1))
    let beginning = task.beginning
    var count = drawn.count
    while count > 0 {
      let shot = Shots(drawn.prefix(count).map { examples[$0] }, task, room: room / count)
      if shot.fits {
        // Only the first begins the text.
        tokens =
          beginning
          + shot.encoded.flatMap { example in
            let own = example.tokens.starts(with: beginning) ? example.tokens.dropFirst(beginning.count) : example.tokens[...]
            return own + task.following
          }
        self.examples = Array(drawn.prefix(count))
        truncated = shot.encoded.count { $0.truncatedTokens > 0 }
        return
      }
      count -= 1
    }
    (tokens, self.examples, truncated) = ([], [], 0)
  }

  /// Examples in their room.
  private struct Shots {
    let encoded: [TokenizedExample]
    let fits: Bool

    init(_ examples: [LabelledExample], _ task: TokenizedTask, room: Int) {
      var shorter = task.task
      shorter.maximumTokens = max(1, room)
      let shot = task.replacing(shorter)
      encoded = examples.map { shot.encode($0, reserving: 0) }
      fits = encoded.allSatisfy { $0.tokens.count <= room }
    }
  }

  /// Labels in a drawn order, one example of each in turn.
  private static func draw(_ examples: [LabelledExample], _ shots: Int, _ seed: UInt64) -> [Int] {
    var rng = SplitMix64(seed: seed, purpose: "evaluation.shots")
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
    rng.shuffle(&drawn)
    return drawn
  }
}
