extension MalformedFile {
  /// Files that are no tokenizer.
  static var tokenizers: [MalformedFile] {
    func json(_ description: String, _ text: String, says: String) -> MalformedFile {
      MalformedFile("tokenizer.json: " + description, [(name: "tokenizer.json", bytes: Array(text.utf8))], for: .tokenizer, says: says)
    }
    func model(_ description: String, _ body: String, says: String) -> MalformedFile {
      json(
        description,
        #"{"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":\#(body)}"#,
        says: says)
    }
    return [
      json("empty object", "{}", says: "model"), json("a list", "[]", says: "tokenizer.json"),
      json("unfinished", "{\"model\":", says: "tokenizer.json"),
      json("nested 100,000 deep", String(repeating: "[", count: 100_000), says: "tokenizer.json"),
      model("unknown kind", #"{"type":"Mystery","vocab":{}}"#, says: "Mystery"),
      model("no vocabulary", #"{"type":"BPE","merges":[]}"#, says: "vocab"),
      model("negative id", #"{"type":"BPE","vocab":{"a":-1},"merges":[]}"#, says: "id"),
      model("id beyond 2^31", #"{"type":"BPE","vocab":{"a":4294967296},"merges":[]}"#, says: "id"),
      model("one id twice", #"{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}"#, says: "id"),
      model("merge of tokens that are not there", #"{"type":"BPE","vocab":{"a":0},"merges":["a b"]}"#, says: "merge"),
      model("merge that is no pair", #"{"type":"BPE","vocab":{"a":0},"merges":["aa"]}"#, says: "merge"),
      model("merge of three", #"{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b","a"]]}"#, says: "merge"),
      model("dropout", #"{"type":"BPE","dropout":0.5,"vocab":{"a":0},"merges":[]}"#, says: "dropout"),
    ]
  }
}
