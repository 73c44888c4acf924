import DibitTestSupport
import Testing

/// A scratch directory with a tiny model, converted by the command itself, an adapter and its data.
struct Workplace {
  let scratch = Scratch()
  var model: String { scratch("model") }
  var adapter: String { scratch("adapter") }
  var data: String { scratch("data") }

  init(adapter trains: Bool = false, perLabel: Int = 8) throws {
    let source = try TinyCheckpoint.afm7().write(to: scratch)
    try #require(try dibit("convert", source, "--output", model, "--no-check").status == 0)
    try writeTopics(to: scratch, perLabel: perLabel)
    guard trains else { return }
    let outcome = try dibit("train", model, "--data", data, "--output", adapter, "--epochs", "1", "--rank", "4")
    try #require(outcome.status == 0, "\(outcome.errors)")
  }
}
