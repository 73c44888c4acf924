import DibitTestSupport
import Foundation
import Testing

/// `dibit predict --output --resume` goes on behind rows of the same model, adapter and options only.
@Suite(.serialized) struct PredictIdentityTests {
  private let work: Workplace
  private var output: String { work.scratch("tags.csv") }
  private var record: String { work.scratch(".tags.csv.job") }

  init() throws {
    work = try Workplace(adapter: true)
    for (index, topic) in topics(perLabel: 2).enumerated() { try work.scratch.write(topic.text, to: "in/\(index).txt") }
  }

  private func arguments(_ options: [String], model: String? = nil, adapter: String? = nil) -> [String] {
    ["predict", model ?? work.model, "--adapter", adapter ?? work.adapter, work.scratch("in"), "-o", output] + options
  }

  private func predict(_ options: String..., model: String? = nil, adapter: String? = nil) throws -> Outcome {
    try dibit(arguments(options, model: model, adapter: adapter))
  }

  /// What a job leaves that was cut off in its middle; returns the bytes of a whole one.
  private func interrupted(_ options: String...) throws -> [UInt8] {
    let outcome = try dibit(arguments(options + ["--overwrite"]))
    try #require(outcome.status == 0, "\(outcome.errors)")
    let whole = try contents(output)
    try work.scratch.write(Array(whole[..<(whole.count / 2)]), to: "tags.csv")
    return whole
  }

  @Test("another model, adapter or option is named, and nothing is lost")
  func refused() throws {
    let (other, fine) = (work.scratch("other"), work.scratch("fine"))
    try #require(try dibit("train", work.model, "--data", work.data, "-o", other, "--epochs", "1", "--rank", "2").status == 0)
    try #require(try dibit("convert", work.scratch("source"), "-o", fine, "--bits", "4", "--no-check").status == 0)
    let asked = try work.scratch.copy(work.adapter, to: "asked")
    let manifest = asked + "/manifest.json"
    try work.scratch.write(
      try text(manifest).replacingOccurrences(of: "Tag the text", with: "Name the topic"), to: "asked/manifest.json")
    func digest(_ adapter: String) throws -> String {
      let text = try text(adapter + "/manifest.json")
      let start = try #require(text.range(of: "\"digest\": \"")).upperBound
      return String(text[start...].prefix(12))
    }

    let format = ["--format", "csv"]
    let whole = try interrupted("--format", "csv", "--threshold", "0.2")
    let before = (try contents(output), try contents(record))
    let advice = ": give the same to go on, or pass --overwrite instead of --resume to begin anew"
    func refused(_ options: [String], model: String? = nil, adapter: String? = nil, _ difference: String) throws {
      try expectFailure(
        arguments(options + ["--resume"], model: model, adapter: adapter), status: 65,
        message: "'\(output)' was begun \(difference)\(advice)")
      #expect(try contents(output) == before.0 && contents(record) == before.1, "\(difference)")
    }
    let same = format + ["--threshold", "0.2"]
    try refused(same, model: fine, "with another model")
    try refused(same, adapter: other, "with another adapter (\(digest(work.adapter)), not \(digest(other)))")
    try refused(same, adapter: asked, "with another prompt")
    try refused(format, "with --threshold 0.2")
    try refused(format + ["--threshold", "0.3"], "with --threshold 0.2, not 0.3")
    try refused(same + ["--tags", "2"], "without --tags, not with 2")
    try refused(same + ["--cut", "head"], "with --cut tail, not head")
    try refused(same + ["--activations", "float"], "with --activations int8, not float")
    try refused(same + ["--lines"], "with --input-format auto, not lines")
    let resumed = try dibit(arguments(same + ["--resume", "--threads", "1"]))
    #expect(resumed.status == 0, "\(resumed.errors)")
    #expect(try contents(output) == whole && contents(record) == before.1)
    // A finished file is asked as well: more texts may follow.
    let more = try dibit(arguments(format + ["--resume"]))
    #expect(more.status == 65 && more.errors == "error: '\(output)' was begun with --threshold 0.2\(advice)\n", "\(more.errors)")
    #expect(try contents(output) == whole && contents(record) == before.1)
    #expect(try predict("--format", "csv", "--overwrite").status == 0)
    #expect(try contents(record) != before.1)
    #expect(try predict("--format", "csv", "--resume").status == 0)
  }

  @Test("rows that nobody knows the origin of are gone on with, with a note, and known from then on")
  func unknown() throws {
    let note = "note: '\(output)' has no file that says what it was begun with: model, adapter and options are taken to be the same\n"
    let whole = try interrupted()
    let known = try contents(record)
    // An older version wrote no such file; a job may have been killed while it wrote one.
    for torn in [nil, [], Array(known.dropLast()), Array(known.prefix(5))] {
      try work.scratch.write(Array(whole[..<(whole.count / 2)]), to: "tags.csv")
      if let torn { try work.scratch.write(torn, to: ".tags.csv.job") } else { try work.scratch.remove(".tags.csv.job") }
      let resumed = try predict("--resume")
      #expect(resumed.status == 0 && resumed.errors.contains(note), "\(resumed.errors)")
      #expect(try contents(output) == whole && contents(record) == known)
    }
    #expect(try predict("--resume", "--cut", "head").status == 65)
    #expect(try !predict("--resume").errors.contains("note: "))
    // What was said of an output that is gone says nothing of the next one.
    try work.scratch.remove("tags.csv")
    #expect(try predict("--cut", "head").status == 0)
    #expect(try contents(record) != known)
  }

  @Test("something else under the name of that file is left alone")
  func foreign() throws {
    let whole = try interrupted()
    let cut = try contents(output)
    for bytes in ["my own notes\n", "{\"schema\":1,\"job\":\"predict\",\"model\":1}\n", "jobs"] {
      try work.scratch.write(bytes, to: ".tags.csv.job")
      for option in ["--resume", "--overwrite"] {
        try expectFailure(
          arguments([option]), status: 73,
          message: "'\(record)': will not be overwritten, because it is not a file about a job that dibit wrote; "
            + "remove it by hand or choose another name")
        #expect(try contents(output) == cut && text(record) == bytes)
      }
    }
    try work.scratch.remove(".tags.csv.job")
    #expect(try predict("--resume").status == 0)
    #expect(try contents(output) == whole)
    // The file is hidden from jobs that read the folder, and an array needs none.
    let all = work.scratch("all.json")
    #expect(try dibit("predict", work.model, "--adapter", work.adapter, work.scratch("in"), "--json", "-o", all).status == 0)
    #expect(!exists(work.scratch(".all.json.job")))
    let inside = work.scratch("in/tags.txt")
    for options in [[], ["--overwrite"]] {
      #expect(
        try dibit(["predict", work.model, "--adapter", work.adapter, work.scratch("in"), "-o", inside] + options).status == 0)
      #expect(try !text(inside).contains("tags.txt") && exists(work.scratch("in/.tags.txt.job")))
    }
  }

  @Test("killed at any write, an output never holds rows of two jobs")
  func writePoints() throws {
    guard let library = try WritePoints.build(in: work.scratch) else { return }
    let old = ["--format", "jsonl"]
    let new = old + ["--scores", "--threshold", "0.1"]
    func whole(_ options: [String]) throws -> [UInt8] {
      try #require(try dibit(arguments(options + ["--overwrite"])).status == 0)
      return try contents(output)
    }
    let expected = (old: try whole(old), new: try whole(new))
    _ = try whole(old)
    let known = try contents(record)
    let counting = WritePoints.environment(library: library, countingInto: work.scratch("count"))
    try #require(try dibit(arguments(new + ["--overwrite"]), environment: counting).status == 0)
    let points = try #require(Int(try text(work.scratch("count"))))
    #expect(points > 12, "the library counts nothing")
    var outcomes: Set<Int32> = []
    for point in 1...points {
      try work.scratch.write(expected.old, to: "tags.csv")
      try work.scratch.write(known, to: ".tags.csv.job")
      let moment = WritePoints.Moment.allCases[point % 3]
      let process = try DibitProcess(
        arguments(new + ["--overwrite"]), environment: WritePoints.environment(library: library, dieAt: point, moment))
      #expect(process.waitForSignal() == SIGKILL, "\(point): \(process.errors)")
      let resumed = try dibit(arguments(new + ["--resume"]))
      outcomes.insert(resumed.status)
      // Before the first cut the old rows are all there, and are refused.
      let isOld = resumed.status == 65
      #expect(try contents(output) == (isOld ? expected.old : expected.new), "\(point): \(resumed.errors)")
      #expect(!resumed.errors.contains("has no file that says"), "\(point)")
    }
    #expect(outcomes.contains(0) && outcomes.isSubset(of: [0, 65]))
    // A fresh output, too.
    for point in 1...points where point % 4 == 1 {
      for name in ["tags.csv", ".tags.csv.job"] where exists(work.scratch(name)) { try work.scratch.remove(name) }
      let process = try DibitProcess(arguments(new), environment: WritePoints.environment(library: library, dieAt: point, .half))
      _ = process.waitForSignal()
      #expect(try dibit(arguments(new + ["--resume"])).status == 0)
      #expect(try contents(output) == expected.new, "\(point)")
    }
    let left = work.scratch.names.filter { $0.contains("partial") }
    #expect(left.isEmpty, "\(left)")
  }
}
