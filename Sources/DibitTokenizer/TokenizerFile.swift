internal import DibitJSON
internal import DibitTensor

/// A tokenizer.json: its values, and what is large of a usual file as lists.
struct TokenizerFile {
  let value: JSONValue
  /// `model.vocab`, in place of which ``value`` has an empty object.
  private(set) var vocabulary: TokenList?
  /// The tokens of ``vocabulary``.
  private(set) var table: TokenTable?
  /// `model.merges`, in place of which ``value`` has an empty array, and the threads that may look them up.
  private(set) var merges: (list: PairList, pool: ThreadPool)?

  /// A file whose values are all in a tree.
  init(_ value: JSONValue) { self.value = value }

  /// Reads a file of byte pairs without a tree of its vocabulary and merges, which would take most of the time; nil for any other file.
  ///
  /// A file with a fault is such another file: what is wrong with it, and where, the tree shows.
  init?(reading bytes: [UInt8], on pool: ThreadPool) {
    guard bytes.count <= Int32.max else { return nil }
    var parts = Parts(bytes: bytes, pool: pool)
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
    (vocabulary, self.table, self.merges) = (parts.vocabulary, table, (merges, pool))
  }

  /// What is read of a model while its members go by.
  private struct Parts {
    let bytes: [UInt8]
    let pool: ThreadPool
    var vocabulary: TokenList?
    var table: TokenTable?
    var merges: PairList?
    /// Merges that were read ahead, and readers before and behind them.
    var ahead: (start: Int, merges: PairList, end: JSONReader)?

    mutating func read(_ key: String, _ reader: inout JSONReader) throws(JSONError) -> JSONValue {
      switch key {
      case "vocab":
        try readVocabulary(&reader)
        return .object(JSONObject())
      case "merges":
        if let ahead, ahead.start == reader.offset {
          (merges, reader) = (ahead.merges, ahead.end)
        } else {
          merges = try PairList(&reader)
        }
        return .array([])
      default: return try reader.value()
      }
    }

    /// Reads the vocabulary and makes its table; another thread looks for the merges behind it.
    private mutating func readVocabulary(_ reader: inout JSONReader) throws(JSONError) {
      var (list, table, fault): (TokenList?, TokenTable?, JSONError?)
      var ahead: (start: Int, merges: PairList, end: JSONReader)?
      let (bytes, start) = (bytes, reader.offset)
      var copy = reader
      try copy.expect("{")
      // A single thread reads the merges when it gets there.
      pool.forEach(min(2, pool.threads)) { task, _ in
        if task == 1 {
          ahead = Self.merges(in: bytes, from: start)
          return
        }
        do throws(JSONError) {
          let found = try TokenList(&reader)
          list = found
          if found.isUsable { table = TokenTable(found) }
        } catch { fault = error }
      }
      if let fault { throw fault }
      (vocabulary, self.table, self.ahead) = (list, table, ahead)
    }

    /// The first pairs from `start` on that look like a member called merges. Whether they are one shows when the reader gets there.
    private static func merges(in bytes: [UInt8], from start: Int) -> (start: Int, merges: PairList, end: JSONReader)? {
      let name = Array("\"merges\"".utf8)
      var index = start
      while index + name.count < bytes.count {
        guard bytes[index + 1] == name[1], bytes.holds(name, at: index) else {
          index += 1
          continue
        }
        // "merges" is a word like others, too.
        var reader = JSONReader(bytes, from: index + name.count, depthLimit: 128 - 2)
        if reader.accept(":") {
          let start = reader.offset
          if let merges = try? PairList(&reader) { return (start, merges, reader) }
        }
        index = reader.offset
      }
      return nil
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
