import DibitDataset
import DibitEvaluation
import DibitInference
import DibitJSON
import DibitKernels
import DibitTestSupport
import Testing

/// How predictions are written, read again to go on, and put in order.
@Suite struct PredictionFormatTests {
  static let labels = ["food", "money", "a \"b\", c", "sport"]

  /// Real predictions under names that need care, and one that failed.
  private static func predictions(threshold: Double? = nil) throws -> [InputPrediction] {
    let tiny = try TinyTask()
    var job = try PredictionJob(labels: labels, subject: tiny.subject(), threshold: threshold, on: Compute(threads: 2))
    let locations = [
      TextLocation(file: "plain.txt"), TextLocation(file: "a, \"b\".txt"), TextLocation(file: "two\nlines\t\\.txt"),
      TextLocation(file: "rows.csv", line: 7),
      TextLocation(file: " é.txt"), TextLocation(file: "plain.txt"),
    ]
    var results = zip(locations, job.run(["soup", "bank", "goal", "team", "", "cup"])).map { location, result in
      InputPrediction(location: location, result: result.mapError { .model($0) })
    }
    results.insert(InputPrediction(location: TextLocation(file: "gone"), result: .failure(.input(.missing(path: "gone")))), at: 2)
    return results
  }

  private func whole(_ format: PredictionFormat, _ predictions: [InputPrediction]) -> String {
    var (text, isFirst) = (format.header, true)
    for prediction in predictions {
      let record = format.record(prediction, isFirst: isFirst)
      text += record
      if !record.isEmpty { isFirst = false }
    }
    return text + format.footer(isEmpty: isFirst)
  }

  @Test func textLines() throws {
    let lines = whole(PredictionFormat(.text, labels: Self.labels, key: "topics"), try Self.predictions()).split(separator: "\n")
    let fields = lines.map { $0.split(separator: "\t", omittingEmptySubsequences: false) }
    #expect(fields.map { String($0[0]) } == ["plain.txt", "a, \"b\".txt", "two\\nlines\\t\\\\.txt", "rows.csv:7", " é.txt", "plain.txt"])
    #expect(fields.allSatisfy { $0.count == 3 && Self.labels.contains(String($0[1])) })
    #expect(fields.allSatisfy { $0[2].count == 5 && $0[2].hasPrefix("0.") })
    let none = whole(PredictionFormat(.text, labels: Self.labels, key: "topics"), try Self.predictions(threshold: 1))
    #expect(none.split(separator: "\n").allSatisfy { $0.split(separator: "\t")[1] == "-" })
  }

  @Test func csv() throws {
    let format = PredictionFormat(.csv, labels: Self.labels, key: "topics", hasScores: true)
    let predictions = try Self.predictions()
    let text = whole(format, predictions)
    #expect(text.hasPrefix("path,label,tags,probability,food,money,\"a \"\"b\"\", c\",sport\n"))
    #expect(text.contains("\n\"a, \"\"b\"\".txt\","))
    #expect(text.contains("\n\"two\nlines\t\\.txt\","))
    #expect(text.contains("\n\" é.txt\","))
    #expect(!text.contains("gone"))
  }

  @Test func json() throws {
    let predictions = try Self.predictions()
    let lines = whole(PredictionFormat(.jsonl, labels: Self.labels, key: "kinds"), predictions).split(separator: "\n")
    let objects = try lines.map { try JSONValue(parsing: Array($0.utf8)) }
    #expect(objects.count == predictions.count)
    #expect(objects[3]["file"] == "two\nlines\t\\.txt")
    #expect(objects[4].object?.keys == ["file", "line", "kinds", "probability", "truncated_tokens"])
    #expect(objects[4]["line"] == 7)
    #expect(objects[2] == ["file": "gone", "error": "'gone' does not exist; check the path"])
    let array = PredictionFormat(.json, labels: Self.labels, key: "kinds", hasScores: true)
    let text = whole(array, predictions)
    let value = try JSONValue(parsing: Array(text.utf8))
    #expect(value.array?.count == predictions.count)
    #expect(text == value.serialized(pretty: true) + "\n", "piece by piece as if at once")
    #expect(value.array?[0].object?.keys == ["file", "kinds", "probability", "truncated_tokens", "scores"])
    #expect(value.array?[0]["scores"]?.object?.keys == Self.labels)
    #expect(whole(array, []) == "[]\n")
  }

  @Test("wherever a file is torn, the rest is written as if it had not been", arguments: [PredictionFormat.Kind.text, .csv, .jsonl])
  func goingOn(kind: PredictionFormat.Kind) throws {
    let format = PredictionFormat(kind, labels: Self.labels, key: "topics", hasScores: kind != .text)
    let predictions = try Self.predictions()
    let bytes = Array(whole(format, predictions).utf8)
    var refused = 0
    for length in 0...bytes.count {
      var completed = CompletedPredictions(format)
      do {
        // In pieces, as files are read.
        for start in stride(from: 0, to: length, by: 17) { try completed.add(Array(bytes[start..<min(start + 17, length)])) }
        try completed.end()
      } catch {
        refused += 1
        continue
      }
      var text = String(decoding: bytes[..<completed.byteCount], as: UTF8.self)
      if completed.byteCount == 0 { text += format.header }
      for prediction in predictions where !completed.take(prediction.location) { text += format.record(prediction, isFirst: false) }
      #expect(Array(text.utf8) == bytes, "torn after \(length) bytes")
      #expect(completed.unclaimed == 0)
      #expect(completed.failures == (kind == .jsonl && completed.count > 2 ? 1 : 0))
    }
    // A first line of plain text that is not whole could be anybody's.
    #expect(refused == (kind == .text ? bytes.prefix { $0 != 0x0A }.count : 0))
  }

  @Test func unfitFiles() throws {
    let labels = Self.labels
    func check(_ format: PredictionFormat, _ text: String, line: Int) {
      var completed = CompletedPredictions(format)
      do throws(UnfitPredictions) {
        try completed.add(Array(text.utf8))
        try completed.end()
        Issue.record("taken: \(text)")
      } catch { #expect(error.line == line, "\(text): \(error)") }
    }
    let csv = PredictionFormat(.csv, labels: labels, key: "topics")
    let jsonl = PredictionFormat(.jsonl, labels: labels, key: "topics", hasScores: true)
    check(csv, "path,label,tags,probability,food\n", line: 1)
    check(csv, "hello", line: 1)
    check(csv, csv.header + "a,b,c\n", line: 2)
    check(csv, csv.header + "a,b,c,d\n", line: 2)
    check(jsonl, "hello", line: 1)
    check(jsonl, "{\"file\":\"a\"}\n", line: 1)
    check(jsonl, "{\"file\":\"a\",\"error\":\"x\"}\n{\"file\":\"a\",\"topics\":[],\"probability\":1,\"truncated_tokens\":0}\n", line: 2)
    check(
      jsonl, "{\"file\":\"a\",\"topics\":[],\"probability\":1,\"truncated_tokens\":0,\"scores\":{\"food\":1}}\n", line: 1)
    check(
      PredictionFormat(.jsonl, labels: labels, key: "kinds"), "{\"file\":\"a\",\"topics\":[],\"probability\":1,\"truncated_tokens\":0}\n",
      line: 1)
    check(PredictionFormat(.text, labels: labels, key: "topics"), "My dear,\n", line: 1)
    check(PredictionFormat(.text, labels: labels, key: "topics"), "a\tb\t0.500\na\tb\n", line: 2)
    var completed = CompletedPredictions(csv)
    let error = #expect(throws: UnfitPredictions.self) { try completed.add(Array("x\n".utf8)) }
    #expect(error?.description == "line 1: the header path,label,tags,probability expected, something else found")
  }

  @Test("results come in the order of inputs, faults among them, and stop when asked")
  func order() throws {
    let tiny = try TinyTask()
    var options = TaggingOptions()
    (options.selection, options.rows) = (.several(most: 3), 100)
    var job = try PredictionJob(
      labels: ["food", "foods", "money", "sport"], subject: tiny.subject(), options: options, on: Compute(threads: 2))
    let texts = topics(perLabel: 5).map(\.text)
    var inputs = texts.enumerated().map { TextInput(location: TextLocation(file: "t", line: $0 + 1), content: .success($1)) }
    for location in [20, 11, 10, 0] {
      inputs.insert(TextInput(location: TextLocation(file: "gone \(location)"), content: .failure(.missing(path: "gone"))), at: location)
    }
    var received: [InputPrediction] = []
    job.run(inputs) { prediction in
      received.append(prediction)
      return true
    }
    #expect(received.map(\.location) == inputs.map(\.location))
    let alone = job.run(texts).map { try? $0.get() }
    #expect(received.compactMap { try? $0.result.get() }.map(\.scores) == alone.map { $0?.scores })
    #expect(received.count { if case .failure(.input(.missing)) = $0.result { true } else { false } } == 4)

    var count = 0
    job.run(inputs) { _ in
      count += 1
      return count < 7
    }
    #expect(count == 7)
    let faults = (0..<1000).map { TextInput(location: TextLocation(file: "\($0)"), content: .failure(.missing(path: "x"))) }
    count = 0
    job.run(faults) { _ in
      count += 1
      return count < 500
    }
    #expect(count == 500, "faults are told before a text follows")
  }
}
