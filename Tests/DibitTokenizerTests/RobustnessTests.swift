internal import DibitJSON
internal import DibitTokenizer
internal import Foundation
internal import Testing

/// Numbers that are the same on every run.
struct SeededNumbers: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

extension [UInt8] {
  /// These bytes with one to three random changes: bits, bytes, cuts, copies, lengths.
  func mutated(_ random: inout SeededNumbers) -> [UInt8] {
    var bytes = self
    for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
      let index = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<7, using: &random) {
      case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes[index] = UInt8.random(in: 0...255, using: &random)
      case 2: bytes[index] = [0, 0x7F, 0x80, 0xFF][Int.random(in: 0..<4, using: &random)]
      case 3: bytes.removeSubrange(index..<Swift.min(bytes.count, index + Int.random(in: 1...9, using: &random)))
      case 4: bytes.insert(contentsOf: bytes[index..<Swift.min(bytes.count, index + 12)], at: Int.random(in: 0...index, using: &random))
      case 5: for offset in index..<Swift.min(bytes.count, index + 4) { bytes[offset] = 0xFF }
      default: bytes.removeSubrange(index...)
      }
    }
    return bytes
  }
}

/// A protobuf message.
struct ProtobufWriter {
  private(set) var bytes: [UInt8] = []

  mutating func varint(_ value: UInt64) {
    var value = value
    while value > 0x7F {
      bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    bytes.append(UInt8(value))
  }

  mutating func number(_ field: Int, _ value: Int) {
    varint(UInt64(field << 3))
    varint(UInt64(bitPattern: Int64(value)))
  }

  mutating func float(_ field: Int, _ value: Float) {
    varint(UInt64(field << 3 | 5))
    for shift in [0, 8, 16, 24] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: value.bitPattern >> shift)) }
  }

  mutating func message(_ field: Int, _ value: [UInt8]) {
    varint(UInt64(field << 3 | 2))
    varint(UInt64(value.count))
    bytes += value
  }
}

/// A SentencePiece model of these pieces.
func sentencePieceModel(_ pieces: [(String, Float, Int)], kind: Int = 2, trainer: [(Int, Int)] = [], map: [UInt8] = []) -> [UInt8] {
  var file = ProtobufWriter()
  for (text, score, type) in pieces {
    var piece = ProtobufWriter()
    piece.message(1, Array(text.utf8))
    piece.float(2, score)
    piece.number(3, type)
    file.message(1, piece.bytes)
  }
  var spec = ProtobufWriter()
  spec.number(3, kind)
  for (field, value) in trainer { spec.number(field, value) }
  file.message(2, spec.bytes)
  var normalizer = ProtobufWriter()
  normalizer.message(2, map)
  file.message(3, normalizer.bytes)
  return file.bytes
}

let smallPieces: [(String, Float, Int)] = [
  ("<unk>", 0, 2), ("<s>", 0, 3), ("</s>", 0, 3), ("▁a", -1, 1), ("ab", -2, 1), ("▁ab", -3, 1), ("▁", -4, 1), ("a", -5, 1), ("b", -6, 1),
  ("@@", 0, 4),
]

@Suite struct RobustnessTests {
  /// A character map that makes "é" of "e" and a space of "_": a double array with a branch for each of two keys.
  static let map: [UInt8] = {
    var units = [UInt32](repeating: 0, count: 256)
    units[0] = 0  // The root; its children are at the bytes themselves.
    units[0x65] = UInt32(0x65) | 1 << 8 | UInt32(0x65 ^ 0x80) << 10
    units[0x80] = 1 << 31
    units[0x5F] = UInt32(0x5F) | 1 << 8 | UInt32(0x5F ^ 0x81) << 10
    units[0x81] = 1 << 31 | 3
    var bytes: [UInt8] = [0, 4, 0, 0]
    for unit in units { for shift in [0, 8, 16, 24] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: unit >> shift)) } }
    return bytes + Array("é\0 \0".utf8)
  }()

  @Test("a small model encodes as SentencePiece does")
  func small() throws {
    let bytes = sentencePieceModel(smallPieces, map: Self.map)
    let tokenizer = try Tokenizer(sentencePiece: bytes)
    #expect(tokenizer.encode("ab _ab", parsingSpecialTokens: false) == [5, 5])
    #expect(tokenizer.encode("a@@b", parsingSpecialTokens: false) == [3, 9, 8])
    #expect(tokenizer.encode("eé", parsingSpecialTokens: false) == [6, 0])
    #expect(tokenizer.encode("<s>a", parsingSpecialTokens: true) == [1, 3])
    #expect(tokenizer.decode([5, 5]) == "ab ab")
  }

  @Test("20 000 damaged files give a tokenizer or an error", .timeLimit(.minutes(10)))
  func damage() throws {
    let files: [[UInt8]] = [
      sentencePieceModel(smallPieces, map: Self.map), sentencePieceModel(smallPieces, kind: 1, map: Self.map),
      Array(try Tokenizer(sentencePiece: sentencePieceModel(smallPieces)).serialized().utf8),
      Array(try Tokenizer(sentencePiece: sentencePieceModel(smallPieces, kind: 1)).serialized().utf8),
      Array(
        tokenizerFile([("pre_tokenizer", ["type": "Split", "pattern": ["Regex": #"(?:a|[b-d]{1,2})+"#], "behavior": "Removed"])])
          .serialized().utf8),
      Self.llama2c,
    ]
    var random = SeededNumbers(7)
    var (made, refused) = (0, 0)
    for round in 0..<20_000 {
      let number = round % files.count
      let bytes = files[number].mutated(&random)
      do throws(TokenizerError) {
        let tokenizer =
          switch number {
          case 0, 1: try Tokenizer(sentencePiece: bytes, addingBeginning: round % 2 == 0)
          case 5: try Tokenizer(llama2c: bytes, vocabularySize: 261)
          default: try Tokenizer(parsing: bytes)
          }
        made += 1
        if round % 8 < 6 { _ = tokenizer.decode(tokenizer.encode("ab @@e é_a</s> <0x41>\u{301}")) }
      } catch {
        refused += 1
        #expect(!error.description.isEmpty)
      }
    }
    #expect(made > 1000 && refused > 5000, "\(made) \(refused)")
  }

  /// A tokenizer.bin of 261 pieces.
  static let llama2c: [UInt8] = {
    let bytes = (0..<256).map { byte in "<0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) + ">" }
    var file: [UInt8] = [6, 0, 0, 0]
    for (index, piece) in (["<unk>", "\n<s>\n", "\n</s>\n"] + bytes + [" ", "a"]).enumerated() {
      let score = Float(index < 259 ? 0 : -index)
      for word in [score.bitPattern, UInt32(piece.utf8.count)] {
        for shift in [0, 8, 16, 24] as [UInt32] { file.append(UInt8(truncatingIfNeeded: word >> shift)) }
      }
      file += Array(piece.utf8)
    }
    return file
  }()

  @Test("byte tokens are only what is spelled like one")
  func byteTokens() throws {
    for text in ["<0x-1>", "<0x+F>", "<0xZZ>", "<0x1>", "<0x100>", "<0x0a>", "<0x 1>"] {
      let pieces = smallPieces + [(text, 0, 6)]
      #expect(throws: TokenizerError.unusablePiece(index: 10, reason: "it is of type byte, but not spelled like <0x0A>")) {
        try Tokenizer(sentencePiece: sentencePieceModel(pieces, trainer: [(35, 1)]))
      }
      let tokenizer = try Tokenizer(
        parsing: tokenizerFile([
          ("model.vocab.\(text)", 8), ("decoder", ["type": "Sequence", "decoders": [["type": "ByteFallback"], ["type": "Fuse"]]]),
        ]))
      // Hugging Face's library reads lower-case digits as well, and so do its decoders here.
      if text != "<0x0a>" { #expect(tokenizer.decode([8]) == text) }
    }
  }

  @Test(
    "faults of SentencePiece models are named",
    arguments: [
      (sentencePieceModel(smallPieces, kind: 3), "the SentencePiece model has type 3 at byte"),
      (sentencePieceModel(smallPieces, trainer: [(24, 1)]), "the SentencePiece model has treat_whitespace_as_suffix at byte"),
      (sentencePieceModel(smallPieces + [("a", 0, 1)]), "the piece 'a' is listed twice, with the ids 7 and 10"),
      (
        sentencePieceModel(smallPieces + [("", 0, 1)]),
        "piece 10 of the vocabulary cannot be used: it must be UTF-8 text of 1 to 1024 bytes"
      ),
      (sentencePieceModel(smallPieces + [("c", .nan, 1)]), "piece 10 of the vocabulary cannot be used: its score is nan"),
      (sentencePieceModel(smallPieces + [("c", 0, 7)]), "the SentencePiece model has 7 at byte"),
      (
        sentencePieceModel(smallPieces + [("aab", 0, 5)]),
        "piece 10 of the vocabulary cannot be used: it is of type unused, but other pieces"
      ),
      (sentencePieceModel(smallPieces + [("c", 0, 2)]), "piece 10 of the vocabulary cannot be used: it is of type unknown, as piece 0 is"),
      (sentencePieceModel(Array(smallPieces.dropFirst())), "the tokenizer file has no 'a piece of type unknown'"),
      (sentencePieceModel([]), "the SentencePiece model has the end of the file at byte"),
      (sentencePieceModel(smallPieces, map: [1, 2]), "'normalizer_spec.precompiled_charsmap' in the tokenizer file is no character map"),
      ([0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], "the SentencePiece model has a length of 18446744073709551615"),
      ([0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], "the SentencePiece model has a number of more than 64 bits"),
      ([0x0B], "the SentencePiece model has 3 at byte 0, but needs a wire type of 0, 1, 2 or 5"),
    ])
  func faults(bytes: [UInt8], expected: String) {
    do throws(TokenizerError) {
      _ = try Tokenizer(sentencePiece: bytes)
      Issue.record("nothing was thrown")
    } catch {
      #expect(error.description.hasPrefix(expected), "\(error)")
    }
  }

  @Test("a file that contradicts its scored vocabulary is refused")
  func contradictions() throws {
    let text = try Tokenizer(sentencePiece: sentencePieceModel(smallPieces)).serialized()
    var file = try JSONValue(parsing: text).object ?? JSONObject()
    file["pre_tokenizer"] = ["type": "Whitespace"]
    #expect(throws: TokenizerError.contradiction(path: "pre_tokenizer")) { try Tokenizer(parsing: .object(file)) }
    file["pre_tokenizer"] = .null
    file["normalizer"] = .null
    #expect(throws: TokenizerError.contradiction(path: "normalizer")) { try Tokenizer(parsing: .object(file)) }
  }

  @Test("long texts of every kind take no quadratic time", .timeLimit(.minutes(10)))
  func longTexts() throws {
    let units = ["a", " ", "▁", "1", "\n", "é", "e\u{301}", "👩‍👩‍👧", "!", "ab@@"]
    let tokenizers =
      try SpanGolden.models.map { try Tokenizer(sentencePiece: $0.model()) }
      + SpanGolden.files.map { try Tokenizer(parsing: $0.file()["tokenizer"] ?? .null) }
    for tokenizer in tokenizers {
      for unit in units { _ = tokenizer.encode(String(repeating: unit, count: 4000)) }
    }
  }
}
