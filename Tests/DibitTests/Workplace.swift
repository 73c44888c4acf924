import Dibit
import DibitTestSupport

/// A tiny converted model and labelled texts, in a directory that goes with the test.
struct Workplace {
  let scratch = Scratch()
  let model: Model
  let data: String

  /// Labels, and what their texts are made of.
  static let labels = ["food", "money", "space", "sport"]
  private static let starts = ["the soup needs", "the bank pays", "the rocket left", "the player ran"]
  private static let ends = [
    "salt and butter", "the loan back", "a small planet", "over the field", "near the moon", "with care", "the market", "late",
  ]

  init(context: Int = 512, options: Conversion.Options = .init(bits: 4)) async throws {
    let source = try TinyCheckpoint.llama(context: context).write(to: scratch)
    var options = options
    options.checks = false
    _ = try await Model.convert(source, to: scratch("model"), options: options).value
    model = try await Model(at: scratch("model"), options: .init(threads: 2))
    data = scratch("data")
    for (split, range) in [("train", 0..<5), ("test", 5..<8)] {
      for (label, start) in zip(Self.labels, Self.starts) {
        for (number, end) in Self.ends[range].enumerated() {
          try scratch.write("\(start) \(end)", to: "data/\(split)/\(label)/\(number).txt")
        }
      }
    }
  }

  /// Options of a training that takes a second.
  var quick: AdapterTraining.Options {
    var options = AdapterTraining.Options()
    (options.epochs, options.rank, options.batchSize, options.maximumTokens, options.learningRate) = (2, 4, 4, 128, 0.003)
    return options
  }

  func trained(_ name: String = "adapter", _ options: AdapterTraining.Options? = nil) async throws -> Adapter {
    try await model.adapter(at: model.train(on: data, to: scratch(name), options: options ?? quick).value.path)
  }
}

/// The failure of a job or a call; a success is reported by the caller's `#require`.
func failure<Value>(_ body: () async throws(DibitError) -> Value) async -> DibitError? {
  do throws(DibitError) {
    _ = try await body()
    return nil
  } catch { return error }
}
