internal import DibitJSON

extension PredictionFormat {
  /// Checks whether a file that begins with these bytes holds predictions, of whatever form, labels and task.
  package static func isForm(ofStart start: [UInt8]) -> Bool {
    isLine(start) || isTable(start) || isObject(start) || isArray(start)
  }

  private static let lineEnd: UInt8 = 0x0A

  /// The first line; nil where it does not end within the start.
  private static func firstLine(_ start: [UInt8]) -> ArraySlice<UInt8>? {
    start.firstIndex(of: lineEnd).map { start[..<$0] }
  }

  /// Location, tags and a probability as ``record(_:isFirst:)`` writes it, with three decimals: labelled sets have a number there too.
  private static func isLine(_ start: [UInt8]) -> Bool {
    guard let fields = firstLine(start)?.split(separator: 0x09, omittingEmptySubsequences: false), fields.count == 3 else { return false }
    let number = Array(fields[2])
    guard number.count == 5, number[1] == UInt8(ascii: ".") else { return false }
    return (UInt8(ascii: "0")...UInt8(ascii: "1")).contains(number[0])
      && number[2...].allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  /// The columns that every table of predictions begins with.
  private static func isTable(_ start: [UInt8]) -> Bool {
    let columns = PredictionFormat(.csv, labels: [], key: "").columns.joined(separator: ",")
    guard start.starts(with: columns.utf8) else { return false }
    let next = start.dropFirst(columns.utf8.count).first
    return next == lineEnd || next == UInt8(ascii: ",")
  }

  private static func isObject(_ start: [UInt8]) -> Bool {
    guard start.starts(with: "{\"file\":".utf8) else { return false }
    // A line that was torn, or is longer than what is looked at.
    guard let line = firstLine(start) else {
      let text = String(decoding: start, as: UTF8.self)
      return text.contains("\"probability\":") || text.contains("\"error\":")
    }
    guard let object = try? JSONValue(parsing: Array(line)) else { return false }
    return object["probability"]?.double != nil && object["truncated_tokens"]?.int != nil || object["error"]?.string != nil
  }

  /// An array as ``PredictionFormat/Kind/json`` lays it out.
  private static func isArray(_ start: [UInt8]) -> Bool {
    start.elementsEqual("[]\n".utf8) || start.starts(with: "[\n  {\n    \"file\": \"".utf8)
  }
}
