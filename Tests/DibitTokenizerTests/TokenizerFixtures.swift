internal import DibitJSON
internal import DibitTokenizer
internal import Foundation
internal import Testing

/// The files in `Goldens`, written by `make_goldens.py` with the Python library `tokenizers`.
struct Golden: CustomTestStringConvertible, Sendable {
  let name: String

  static let all = [
    "gpt2", "llama3", "qwen2", "o200k", "digits", "sentencepiece", "gemma", "unknown", "metaspace", "metaspace-first",
  ].map(Golden.init)

  var testDescription: String { name }

  struct Case {
    let text: String
    /// The ids with special tokens added and found.
    let ids: [Int32]
    /// The ids without either.
    let plain: [Int32]
    let decoded: String
    /// The text of `ids` with special tokens.
    let full: String
  }

  func file() throws -> JSONValue {
    let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Goldens/\(name).json")
    return try JSONValue(parsing: Data(contentsOf: url))
  }

  func tokenizer() throws -> Tokenizer { try Tokenizer(parsing: file()["tokenizer"] ?? .null) }

  func cases() throws -> [Case] {
    (try file()["cases"]?.array ?? []).map { value in
      Case(
        text: value["text"]?.string ?? "", ids: Self.ids(value["ids"]), plain: Self.ids(value["plain"]),
        decoded: value["decoded"]?.string ?? "", full: value["full"]?.string ?? "")
    }
  }

  private static func ids(_ value: JSONValue?) -> [Int32] { (value?.array ?? []).map { Int32($0.int ?? -1) } }
}

extension String {
  /// Equality of bytes: `==` would take both spellings of é for one.
  func isSpelled(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

/// A tokenizer file with changes: a path such as `model.vocab` and the value to put there, nil to remove it.
func tokenizerFile(_ changes: [(path: String, value: JSONValue?)] = []) -> JSONValue {
  var file: JSONValue = [
    "added_tokens": [
      ["id": 0, "content": "<unk>", "special": true, "normalized": false],
      ["id": 7, "content": "<end>", "special": true, "normalized": false],
    ],
    "normalizer": .null, "pre_tokenizer": .null, "post_processor": .null, "decoder": .null,
    "model": [
      "type": "BPE", "unk_token": "<unk>", "vocab": ["<unk>": 0, "a": 1, "b": 2, "c": 3, "ab": 4, "abc": 5, "é": 6],
      "merges": ["a b", ["ab", "c"]],
    ],
  ]
  for change in changes { file = setting(change.path.split(separator: ".").map(String.init)[...], of: file, to: change.value) }
  return file
}

private func setting(_ path: ArraySlice<String>, of value: JSONValue, to new: JSONValue?) -> JSONValue {
  guard let key = path.first, var object = value.object else { return new ?? .null }
  object[key] = path.count == 1 ? new : setting(path.dropFirst(), of: object[key] ?? .object(JSONObject()), to: new)
  return .object(object)
}
