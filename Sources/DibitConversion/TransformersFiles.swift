internal import DibitJSON
internal import DibitModel
internal import DibitModelStore
internal import DibitTokenizer

/// The files that transformers reads beside config.json, weights and tokenizer.json, and without which it guesses: the class and the
/// special tokens of the tokenizer, the chat template, and the tokens at which `generate` stops.
struct TransformersFiles {
  /// tokenizer_config.json.
  let tokenizer: JSONValue
  /// generation_config.json.
  let generation: JSONValue
  /// The ids that config.json should have, because a family's defaults take their place there; null where there is no such token.
  let tokenIDs: [(key: String, value: JSONValue)]

  /// The files for `source`, of which `chat` is known.
  init(_ source: StoredModel, chat: JSONValue?) {
    let tokenizer = source.tokenizer
    func configured(_ key: String) -> [Int32] {
      let value = source.json[key]
      let ids = value?.array?.compactMap(\.int) ?? value?.int.map { [$0] } ?? []
      return ids.compactMap { Int32(exactly: $0) }.filter { tokenizer.token(of: $0) != nil }
    }
    func named(_ key: String) -> [Int32] { (chat?[key]?.string).flatMap { tokenizer.id(of: $0) }.map { [$0] } ?? [] }
    let beginning = (named("bos_token") + configured("bos_token_id")).first
    let padding = (named("pad_token") + configured("pad_token_id")).first
    // Where `dibit generate` ends an answer.
    var ends: [Int32] = []
    for id in named("eos_token") + configured("eos_token_id") + ChatTemplate(tokenizer).stopTokens(tokenizer) where !ends.contains(id) {
      ends.append(id)
    }
    func json(_ id: Int32?) -> JSONValue { id.map { .integer(Int($0)) } ?? .null }
    tokenIDs = [(key: "bos_token_id", value: json(beginning)), (key: "eos_token_id", value: json(ends.first))]

    var generation = JSONObject([(key: "bos_token_id", value: json(beginning))])
    generation["eos_token_id"] = ends.count > 1 ? .array(ends.map { json($0) }) : json(ends.first)
    if let padding { generation["pad_token_id"] = json(padding) }
    self.generation = .object(generation)

    var members = JSONObject([(key: "tokenizer_class", value: "PreTrainedTokenizerFast")])
    for (key, id) in [("bos_token", beginning), ("eos_token", ends.first), ("pad_token", padding)] {
      if let text = id.flatMap({ tokenizer.token(of: $0) }) { members[key] = .string(text) }
    }
    if let unknown = chat?["unk_token"] { members["unk_token"] = unknown }
    // Texts come back as they are in the tokens, not tidied.
    members["clean_up_tokenization_spaces"] = false
    members["model_max_length"] = .integer(source.configuration.contextLength)
    if let template = chat?["chat_template"] { members["chat_template"] = template }
    self.tokenizer = .object(members)
  }
}
