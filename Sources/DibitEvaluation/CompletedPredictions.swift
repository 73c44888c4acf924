package import DibitDataset
package import DibitFailure
internal import DibitJSON

/// The record of what an earlier job has written, so that the same job can go on behind it. Feed it the bytes of the file with
/// ``add(_:)``, then ``end()``.
///
/// A record counts when its line end is there; what stands behind the last one was cut off while it was written.
package struct CompletedPredictions: Sendable {
  /// The number of bytes that the complete records take, the header among them: the offset at which to cut the file.
  package private(set) var byteCount = 0
  /// Complete records.
  package private(set) var count = 0
  /// The number of them that say why there is no prediction.
  package private(set) var failures = 0

  private let format: PredictionFormat
  private var counts: [TextDigest: Int] = [:]
  private var record: [UInt8] = []
  private var isQuoted = false
  private var lines = 0
  private var hasHeader: Bool

  /// A reader of what `format` writes; ``PredictionFormat/Kind/json`` cannot go on.
  package init(_ format: PredictionFormat) {
    self.format = format
    hasHeader = format.header.isEmpty
  }

  /// Takes the next bytes of the file.
  ///
  /// - Throws: ``UnfitPredictions`` for a record that `format` does not write.
  package mutating func add(_ bytes: [UInt8]) throws(UnfitPredictions) {
    for byte in bytes {
      record.append(byte)
      if byte == 0x22, format.kind == .csv { isQuoted.toggle() }
      guard byte == 0x0A else { continue }
      lines += 1
      if !isQuoted { try endRecord() }
    }
  }

  /// Ends the file.
  ///
  /// - Throws: ``UnfitPredictions`` when it holds something, but nothing of this form: it must not be cut.
  package func end() throws(UnfitPredictions) {
    guard byteCount == 0, !record.isEmpty else { return }
    let start = format.kind == .csv ? format.header : "{\"file\":"
    let fits = format.kind != .text && zip(record, start.utf8).allSatisfy { $0 == $1 }
    guard fits else { throw UnfitPredictions(line: 1, expected: expected) }
  }

  /// Checks an input off and returns whether it was done; each complete record stands for one input, so this may be asked once for each.
  package mutating func take(_ location: TextLocation) -> Bool {
    let digest = self.digest(location)
    guard let left = counts[digest] else { return false }
    counts[digest] = left > 1 ? left - 1 : nil
    return true
  }

  /// Complete records that no input has asked for.
  package var unclaimed: Int { counts.values.reduce(0, +) }

  // MARK: Records

  private var expected: String {
    switch format.kind {
    case .text: "a line with a place, tags and a probability"
    case .csv: hasHeader ? "\(format.columns.count) fields" : "the header \(format.header.dropLast())"
    case .jsonl, .json:
      "an object with file, \(format.key), probability and truncated_tokens\(format.hasScores ? ", and scores of these labels" : "")"
    }
  }

  /// Locations as this form writes them: in text they are escaped.
  private func digest(_ location: TextLocation) -> TextDigest {
    guard format.kind == .text else { return location.digest }
    return TextLocation(file: PredictionFormat.escaped(location.description)).digest
  }

  private mutating func endRecord() throws(UnfitPredictions) {
    byteCount += record.count
    let line = record.dropLast()
    record.removeAll(keepingCapacity: true)
    guard hasHeader else {
      guard format.header.utf8.dropLast().elementsEqual(line) else { throw unfit }
      hasHeader = true
      return
    }
    guard let location = location(of: line) else { throw unfit }
    counts[location.digest, default: 0] += 1
    count += 1
  }

  private var unfit: UnfitPredictions { UnfitPredictions(line: lines, expected: expected) }

  private mutating func location(of line: ArraySlice<UInt8>) -> TextLocation? {
    switch format.kind {
    case .text:
      let fields = line.split(separator: 0x09, omittingEmptySubsequences: false)
      guard fields.count == 3, Double(String(decoding: fields[2], as: UTF8.self)) != nil else { return nil }
      return TextLocation(file: String(decoding: fields[0], as: UTF8.self))
    case .csv:
      let fields = Self.fields(line)
      guard fields.count == format.columns.count, Double(String(decoding: fields[3], as: UTF8.self)) != nil else { return nil }
      return TextLocation(file: String(decoding: fields[0], as: UTF8.self))
    case .jsonl, .json:
      guard let object = try? JSONValue(parsing: line, depthLimit: 8), let file = object["file"]?.string else { return nil }
      let location = TextLocation(file: file, line: object["line"]?.int ?? 0)
      guard object["error"]?.string == nil else {
        failures += 1
        return location
      }
      guard object[format.key]?.array != nil, object["probability"]?.double != nil, object["truncated_tokens"]?.int != nil else {
        return nil
      }
      let names = object["scores"]?.object?.keys
      let fits = format.hasScores ? names.map { $0.map { Array($0.utf8) } == format.labels.map { Array($0.utf8) } } ?? false : names == nil
      return fits ? location : nil
    }
  }

  /// The fields of a record of CSV as this program writes it.
  private static func fields(_ line: ArraySlice<UInt8>) -> [[UInt8]] {
    var (fields, field, isQuoted, endsQuote): ([[UInt8]], [UInt8], Bool, Bool) = ([], [], false, false)
    for byte in line {
      switch byte {
      case 0x22:
        // The second of two quotes inside quotes.
        if !isQuoted, endsQuote { field.append(byte) }
        endsQuote = isQuoted
        isQuoted.toggle()
      case UInt8(ascii: ",") where !isQuoted:
        fields.append(field)
        (field, endsQuote) = ([], false)
      default:
        field.append(byte)
        endsQuote = false
      }
    }
    return fields + [field]
  }
}

/// A file that holds something else than what is to be written behind it.
package struct UnfitPredictions: EngineError, Equatable {
  /// The line where that shows, from 1.
  package let line: Int
  /// The content that was expected there.
  package let expected: String

  /// The kind of failure.
  package var kind: FailureKind { .badData }

  /// The fault, without the file's name.
  package var description: String { "line \(line): \(expected) expected, something else found" }
}
