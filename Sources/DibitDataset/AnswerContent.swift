internal import DibitJSON
internal import DibitTokenizer

/// The bytes of an answer that are its content: of JSON the values, without keys, quotes and brackets; of anything else all.
///
/// An answer in JSON has many tokens that are the same in every answer. A loss over all of them says little about what was learnt.
enum AnswerContent {
  /// For each byte of `answer` whether it is content.
  static func mask(_ answer: String) -> [Bool] {
    let bytes = Array(answer.utf8)
    guard let first = bytes.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "["),
      (try? JSONValue(parsing: bytes, depthLimit: 64)) != nil
    else { return Array(repeating: true, count: bytes.count) }
    var mask = Array(repeating: false, count: bytes.count)
    var isObject: [Bool] = []
    var awaitsKey = false
    var index = 0
    // The parser has accepted the text, so that brackets match and strings end.
    while index < bytes.count {
      let byte = bytes[index]
      index += 1
      switch byte {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        awaitsKey = byte == UInt8(ascii: "{")
        isObject.append(awaitsKey)
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        _ = isObject.popLast()
        awaitsKey = false
      case UInt8(ascii: ","): awaitsKey = isObject.last ?? false
      case UInt8(ascii: ":"): awaitsKey = false
      case UInt8(ascii: "\""):
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
          let end = min(bytes.count, index + (bytes[index] == UInt8(ascii: "\\") ? 2 : 1))
          if !awaitsKey { for position in index..<end { mask[position] = true } }
          index = end
        }
        index += 1
      case 0x20, 0x09, 0x0A, 0x0D: break
      default: mask[index - 1] = true
      }
    }
    return mask
  }

  /// The roles of tokens that spell the bytes that `mask` is for: content where a byte of the token is.
  ///
  /// Tokens that spell something else, as after a normalizer, are all content.
  static func roles(of tokens: [Int32], spelling text: String, _ mask: [Bool], _ tokenizer: Tokenizer) -> [TokenRole] {
    let whole = Array(repeating: TokenRole.content, count: tokens.count)
    guard mask.contains(false) else { return whole }
    let spellings = tokens.map { tokenizer.bytes(of: $0) }
    let spelled = Array(spellings.joined())
    // Many tokenizers write a space before the first word.
    var offset = spelled.first == 0x20 && text.utf8.first != 0x20 ? -1 : 0
    guard spelled.dropFirst(-offset).elementsEqual(text.utf8) else { return whole }
    return spellings.map { spelling in
      let range = max(0, offset)..<max(0, offset + spelling.count)
      offset += spelling.count
      return mask[range].contains(true) ? .content : .scaffolding
    }
  }
}
