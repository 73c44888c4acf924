internal import DibitJSON

extension Tokenizer {
  /// The tokenizer as a `tokenizer.json` that Hugging Face's library reads and that encodes the same.
  public func serialized() -> String {
    var file = header
    var model = header["model"]?.object ?? JSONObject()
    var vocabulary: [(key: String, value: JSONValue)] = []
    for id in 0..<self.model.tokens.count where self.model.isModelToken[id] {
      if let token = token(of: Int32(id)) { vocabulary.append((token, .integer(id))) }
    }
    model["vocab"] = .object(JSONObject(vocabulary))
    model["merges"] = .array(
      self.model.merges.merges.map { merge in
        .array([.string(token(of: merge.left) ?? ""), .string(token(of: merge.right) ?? "")])
      })
    file["model"] = .object(model)
    return JSONValue.object(file).serialized(pretty: true)
  }
}
