internal import DibitJSON

/// A tokenizer.json: its values, and what is large of a usual file as lists.
struct TokenizerFile {
  let value: JSONValue
  /// `model.vocab`, in place of which ``value`` has an empty object.
  private(set) var vocabulary: TokenList?
  /// The tokens of ``vocabulary``.
  private(set) var table: TokenTable?
  /// `model.merges`, in place of which ``value`` has an empty array.
  private(set) var merges: PairList?

  /// A file whose values are all in a tree.
  init(_ value: JSONValue) { self.value = value }

  /// Reads a file of byte pairs without a tree of its vocabulary and merges, which would take most of the time; nil for any other file.
  ///
  /// A file with a fault is such another file: what is wrong with it, and where, the tree shows.
  init?(reading bytes: [UInt8]) {
    guard bytes.count <= Int32.max else { return nil }
    var parts = Parts()
    // The values of a model are two levels deep.
    var reader = JSONReader(bytes, depthLimit: 128 - 2)
    do throws(JSONError) {
      value = .object(
        try Self.object(&reader) { (key, reader) throws(JSONError) in
          guard key == "model" else { return try reader.value() }
          return .object(try Self.object(&reader) { (key, reader) throws(JSONError) in try parts.read(key, &reader) })
        })
      try reader.expectEnd()
    } catch { return nil }
    // SentencePiece's own vocabularies are compared with what they imply, value by value.
    guard let table = parts.table, let merges = parts.merges, value["model"]?["sentencepiece"] == nil else { return nil }
    (vocabulary, self.table, self.merges) = (parts.vocabulary, table, merges)
  }

  /// The parts of a model that are read while its members go by.
  private struct Parts {
    var vocabulary: TokenList?
    var table: TokenTable?
    var merges: PairList?

    mutating func read(_ key: String, _ reader: inout JSONReader) throws(JSONError) -> JSONValue {
      switch key {
      case "vocab":
        let list = try TokenList(&reader)
        (vocabulary, table) = (list, list.isUsable ? TokenTable(list) : nil)
        return .object(JSONObject())
      case "merges":
        merges = try PairList(&reader)
        return .array([])
      default: return try reader.value()
      }
    }
  }

  /// An object whose values `member` reads.
  private static func object(
    _ reader: inout JSONReader, member: (_ key: String, inout JSONReader) throws(JSONError) -> JSONValue
  ) throws(JSONError) -> JSONObject {
    var object = JSONObject()
    try reader.expect("{")
    if reader.accept("}") { return object }
    repeat {
      // Few members, so that looking through all of them takes no time.
      guard object.count < 64, let key = try reader.value().string, object[key] == nil else { throw reader.unexpected("a new key") }
      try reader.expect(":")
      object[key] = try member(key, &reader)
    } while reader.accept(",")
    try reader.expect("}")
    return object
  }

  /// The file with an empty vocabulary and no merges, which are written anew from the tables.
  var header: JSONObject {
    var header = value.object ?? JSONObject()
    if var model = header["model"]?.object {
      model["vocab"] = model["vocab"]?.array == nil ? .object(JSONObject()) : .array([])
      if model["merges"] != nil { model["merges"] = .array([]) }
      header["model"] = .object(model)
    }
    return header
  }
}
