package import DibitJSON

/// The duration of a run, estimated from a short measurement on this machine.
package struct RunEstimate: Equatable, Sendable {
  /// Tokens of all training steps.
  package let trainingTokens: Int
  /// Tokens of all looks at the validation data.
  package let validationTokens: Int
  /// Tokens that go forward and backward in a second.
  package let trainingRate: Double
  /// Tokens that go forward in a second.
  package let validationRate: Double

  /// Seconds of the whole run; without checkpoints and reading.
  package var seconds: Double {
    Double(trainingTokens) / max(trainingRate, 1e-9) + Double(validationTokens) / max(validationRate, 1e-9)
  }

  /// For machines.
  package var json: JSONValue {
    [
      "training_tokens": .integer(trainingTokens), "validation_tokens": .integer(validationTokens),
      "training_tokens_per_second": .number(trainingRate), "validation_tokens_per_second": .number(validationRate),
      "seconds": .number(seconds),
    ]
  }
}

extension TrainingLoop {
  /// Measures steps that change nothing, for about `seconds` and at least one after the first, which touches memory for the first time.
  mutating func estimate(seconds: Double) -> RunEstimate {
    let first = rate(seconds: 0.4 * seconds) { loop, batch in loop.accumulate(batch) }
    // What a teacher keeps of examples is not made again when they come again.
    let again =
      source.passes == 1 ? first : rate(seconds: 0.4 * seconds, steps: first.steps) { loop, batch in loop.accumulate(batch) }
    let validation = rate(seconds: 0.2 * seconds) { loop, batch in loop.evaluate(batch) }
    let passes = Double(source.passes)
    return RunEstimate(
      trainingTokens: source.totalTokens.training, validationTokens: source.totalTokens.validation,
      trainingRate: passes / (1 / first.tokens + (passes - 1) / again.tokens), validationRate: validation.tokens)
  }

  /// Runs steps from where the source is, `steps` at most behind the first; returns tokens in each second, and how many steps there were.
  private mutating func rate(seconds: Double, steps most: Int = .max, _ run: (inout Self, Batch) -> Void) -> (tokens: Double, steps: Int) {
    var (probe, batches) = (source, source.makeBatches())
    let clock = ContinuousClock()
    var (tokens, steps, begin): (Int, Int, ContinuousClock.Instant?) = (0, 0, nil)
    while true {
      probe.next(into: &batches)
      for index in 0..<batches.count {
        run(&self, batches[index])
        tokens += batches[index].tokens.count
      }
      guard let start = begin else {
        (tokens, begin) = (0, clock.now)
        continue
      }
      steps += 1
      let elapsed = (clock.now - start) / .seconds(1)
      if steps >= most || elapsed >= seconds { return (Double(tokens) / elapsed, steps) }
    }
  }
}
