internal import DibitJSON

extension PredictionFormat {
  /// Whether a file that begins with these bytes holds predictions, of whatever form, labels and task.
  public static func isForm(ofStart start: [UInt8]) -> Bool {
    isLine(start) || isTable(start) || isObject(start) || isArray(start)
  }

  private static let lineEnd: UInt8 = 0x0A

  /// The first line; nil where it does not end within the start.
  private static func firstLine(_ start: [UInt8]) -> ArraySlice<UInt8>? {
    start.firstIndex(of: lineEnd).map { start[..<$0] }
  }

  /// Place, tags and a probability.
  private static func isLine(_ start: [UInt8]) -> Bool {
    guard let fields = firstLine(start)?.split(separator: 0x09, omittingEmptySubsequences: false), fields.count == 3 else { return false }
    return Double(String(decoding: fields[2], as: UTF8.self)).map { (0...1).contains($0) } ?? false
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
    guard let line = firstLine(start) else { return true }
    guard let object = try? JSONValue(parsing: Array(line)) else { return false }
    return object["probability"]?.double != nil && object["truncated_tokens"]?.int != nil || object["error"]?.string != nil
  }

  /// An array as ``PredictionFormat/Kind/json`` lays it out.
  private static func isArray(_ start: [UInt8]) -> Bool {
    start.elementsEqual("[]\n".utf8) || start.starts(with: "[\n  {\n    \"file\": \"".utf8)
  }
}
