internal import DibitJSON

extension Tokenizer {
  /// The tokenizer as a `tokenizer.json` that Hugging Face's library reads and that encodes the same.
  package func serialized() -> String {
    var file = header
    var members = header["model"]?.object ?? JSONObject()
    switch model {
    case .bytePair(let model):
      var vocabulary: [(key: String, value: JSONValue)] = []
      let added = numberedByTheVocabulary(model)
      for id in 0..<model.tokens.count where model.isModelToken[id] || added.contains(Int32(id)) {
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

  /// The ids of the added tokens that the vocabulary of a file has to list too.
  ///
  /// Hugging Face's library does not believe the ids of `added_tokens`: a token that the vocabulary lists has the id there, and the others
  /// are numbered in their order, from the vocabulary's size on. Where that gives other ids than ours, as in vocabularies that begin with
  /// their control tokens, all of them are listed. They are found in a text before the model sees it, so that its ids stay the same.
  private func numberedByTheVocabulary(_ model: BytePairModel) -> Set<Int32> {
    var next = Int32(model.isModelToken.count { $0 })
    for token in addedTokens {
      if !model.isModelToken[Int(token.id)], token.id != next {
        return Set(addedTokens.map(\.id).filter { !model.isModelToken[Int($0)] })
      }
      next = max(next, token.id + 1)
    }
    return []
  }
}
