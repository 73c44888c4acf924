internal import DibitJSON

extension Tokenizer {
  /// The tokenizer as a `tokenizer.json` that Hugging Face's library reads and that encodes the same.
  public func serialized() -> String {
    var file = header
    var members = header["model"]?.object ?? JSONObject()
    switch model {
    case .bytePair(let model):
      var vocabulary: [(key: String, value: JSONValue)] = []
      for id in 0..<model.tokens.count where model.isModelToken[id] {
        if let token = token(of: Int32(id)) { vocabulary.append((token, .integer(id))) }
      }
      members["vocab"] = .object(JSONObject(vocabulary))
      members["merges"] = .array(listed(model.merges))
    case .unigram(let model):
      members["vocab"] = .array(
        model.listedScores.enumerated().map { id, score in .array([.string(token(of: Int32(id)) ?? ""), .number(score)]) })
    }
    file["model"] = .object(members)
    return JSONValue.object(file).serialized(pretty: true)
  }
}
