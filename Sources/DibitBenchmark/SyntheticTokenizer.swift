internal import DibitJSON

/// A byte-level tokenizer with as many tokens as a model's vocabulary: opening a model reads one of the right size.
///
/// Its tokens are the bytes, all pairs of bytes, and as many of them with a third byte as are needed.
enum SyntheticTokenizer {
  /// The characters that stand for bytes in such a tokenizer (Radford et al., "Language models are unsupervised multitask learners").
  private static let alphabet: [String] = {
    func isItself(_ byte: Int) -> Bool { (0x21...0x7E).contains(byte) || (0xA1...0xAC).contains(byte) || (0xAE...0xFF).contains(byte) }
    var next: UInt32 = 256
    return (0..<256).map { byte in
      if isItself(byte) { return String(Unicode.Scalar(UInt8(byte))) }
      defer { next += 1 }
      return Unicode.Scalar(next).map { String($0) } ?? ""
    }
  }()

  /// A tokenizer.json of `count` tokens, 256 at least.
  static func json(tokens count: Int) -> JSONValue {
    var spellings = alphabet
    var merges: [JSONValue] = []
    var left = 0
    // Token `left` and each byte make a new token, from the first byte on.
    while spellings.count < count {
      for byte in alphabet where spellings.count < count {
        merges.append([.string(spellings[left]), .string(byte)])
        spellings.append(spellings[left] + byte)
      }
      left += 1
    }
    let byteLevel: JSONValue = ["type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": true]
    return [
      "version": "1.0", "truncation": .null, "padding": .null, "added_tokens": [], "normalizer": .null, "pre_tokenizer": byteLevel,
      "post_processor": .null, "decoder": byteLevel,
      "model": [
        "type": "BPE", "dropout": .null, "unk_token": .null, "continuing_subword_prefix": .null, "end_of_word_suffix": .null,
        "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
        "vocab": .object(JSONObject(spellings.enumerated().map { (key: $1, value: .integer($0)) })), "merges": .array(merges),
      ],
    ]
  }
}
