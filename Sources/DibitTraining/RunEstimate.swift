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
    var probe = source
    var batches = source.makeBatches()
    let clock = ContinuousClock()
    var rates: (training: Double, validation: Double) = (0, 0)
    for isTraining in [true, false] {
      var (tokens, start, isWarm) = (0, clock.now, false)
      repeat {
        probe.next(into: &batches)
        for index in 0..<batches.count {
          if isTraining { accumulate(batches[index]) } else { evaluate(batches[index]) }
          tokens += batches[index].tokens.count
        }
        if !isWarm { (tokens, start, isWarm) = (0, clock.now, true) }
      } while tokens == 0 || (clock.now - start) / .seconds(1) < (isTraining ? 0.8 : 0.2) * seconds
      let rate = Double(tokens) / ((clock.now - start) / .seconds(1))
      if isTraining { rates.training = rate } else { rates.validation = rate }
    }
    return RunEstimate(
      trainingTokens: source.totalTokens.training, validationTokens: source.totalTokens.validation, trainingRate: rates.training,
      validationRate: rates.validation)
  }
}
