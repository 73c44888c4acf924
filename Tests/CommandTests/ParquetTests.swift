import DibitTestSupport
import Testing

/// Tables in Parquet are not read: whoever has one is told what it is and what to type.
@Suite struct ParquetTests {
  /// The bytes at both ends of a file, which is all that is looked at.
  private static let bytes = Array("PAR1".utf8) + [0x15, 0x04, 0, 0, 0x15] + Array("PAR1".utf8)

  private func message(_ path: String) -> String {
    let stem = path.dropLast(".parquet".count)
    return "'\(path)': rows in CSV, TSV or JSONL expected, a Parquet file found, which is not read; write its rows as JSONL: "
      + "python3 -c \"import pandas; pandas.read_parquet('\(path)').to_json('\(stem).jsonl', orient='records', lines=True, force_ascii=False)\""
  }

  @Test("a file in Parquet is named, with a line to paste, in every command that reads data")
  func files() throws {
    let work = try Workplace(adapter: true)
    let path = try work.scratch.write(Self.bytes, to: "reviews.parquet")
    for arguments in [
      ["dataset", path], ["train", work.model, "--data", path, "-o", work.scratch("o")], ["evaluate", work.model, "--data", path],
      ["crossvalidate", work.model, "--data", path], ["curve", work.model, "--data", path],
    ] { try expectFailure(arguments, status: 65, message: message(path)) }
    // A path that a shell would not read as it is stays out of the command.
    let spaced = try work.scratch.write(Self.bytes, to: "a b.parquet")
    let outcome = try dibit("dataset", spaced)
    #expect(outcome.status == 65 && outcome.errors.contains("read_parquet('FILE.parquet').to_json('FILE.jsonl', "), "\(outcome.errors)")
    // What cannot be read stops nothing else.
    let note = try work.scratch.write("the goal of the match", to: "notes/a.txt")
    try work.scratch.write(Self.bytes, to: "notes/b.parquet")
    for input in [path, work.scratch("notes/b.parquet")] {
      let predicted = try dibit("predict", work.model, "--adapter", work.adapter, input, note)
      #expect(predicted.status == 65 && predicted.output.contains(note), "\(predicted)")
      #expect(predicted.output.contains("Parquet") || predicted.errors.contains("Parquet"), "\(predicted)")
    }
    let below = try dibit("predict", work.model, "--adapter", work.adapter, work.scratch("notes"))
    #expect(below.status == 65 && (below.output + below.errors).contains("a Parquet file found"), "\(below)")
  }

  @Test("a folder of tables is told by the first of them; beside the same rows as JSONL they are left out")
  func folders() throws {
    let scratch = Scratch()
    let rows = #"{"text": "a", "label": "x"}"# + "\n" + #"{"text": "b", "label": "y"}"# + "\n"
    for name in ["plain/train.parquet", "plain/test.parquet", "hub/data/train-00000-of-00001.parquet", "beside/train.parquet"] {
      try scratch.write(Self.bytes, to: name)
    }
    try scratch.write(rows, to: "beside/train.jsonl")
    try expectFailure(["dataset", scratch("plain")], status: 65, message: message(scratch("plain/test.parquet")))
    try expectFailure(["dataset", scratch("hub")], status: 65, message: message(scratch("hub/data/train-00000-of-00001.parquet")))
    #expect(try dibit("dataset", scratch("beside")).status == 0)
    // A part that only a table has may not be lost.
    try scratch.write(Self.bytes, to: "beside/test.parquet")
    try expectFailure(["dataset", scratch("beside")], status: 65, message: message(scratch("beside/test.parquet")))
  }
}
