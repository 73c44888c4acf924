/// The content of a SentencePiece `tokenizer.model` that matters for encoding.
struct SentencePieceModelFile {
  private var pieces: [SentencePieceVocabulary.Piece] = []
  private var normalizer = SentencePieceNormalizer()
  private var kind = SentencePieceVocabulary.Kind.unigram
  private var hasByteFallback = false
  private var beginning = 1
  private var end = 2
  private var size = 0

  /// Reads `ModelProto`: 1 pieces, 2 trainer_spec, 3 normalizer_spec, 5 denormalizer_spec.
  mutating func read(_ bytes: [UInt8]) throws(TokenizerError) {
    size = bytes.count
    var reader = ProtobufReader(bytes, 0..<bytes.count)
    var seen = Set<Int>()
    while let field = try reader.next() {
      guard (1...5).contains(field.number) else { continue }
      let range = try Self.bytes(field)
      if field.number == 1 {
        try readPiece(bytes, range)
        continue
      }
      guard seen.insert(field.number).inserted else {
        throw Self.fault(field.offset, expected: "field \(field.number) once", found: "it twice")
      }
      switch field.number {
      case 2: try readTrainer(bytes, range)
      case 3: try readNormalizer(bytes, range)
      case 5: try checkDenormalizer(bytes, range)
      default: break
      }
    }
    guard !pieces.isEmpty else { throw Self.fault(bytes.count, expected: "at least one piece", found: "the end of the file") }
  }

  func vocabulary(addingBeginning addsBeginning: Bool, addingEnd addsEnd: Bool) throws(TokenizerError) -> SentencePieceVocabulary {
    if !hasByteFallback, let id = pieces.firstIndex(where: { $0.type == .byte }) {
      throw .unusablePiece(index: id, reason: "it is of type byte, but the model has no byte fallback")
    }
    if hasByteFallback, !pieces.contains(where: { $0.type == .byte }) { throw .missing(path: "<0x00>") }
    func checked(_ id: Int, _ name: String) throws(TokenizerError) -> Int32 {
      guard pieces.indices.contains(id), pieces[id].type == .control else {
        throw .unknownToken(path: name, token: String(id))
      }
      return Int32(id)
    }
    var vocabulary = SentencePieceVocabulary(kind: kind, pieces: pieces, normalizer: normalizer)
    // -1 says that the model has no such token.
    if addsBeginning, beginning != -1 { vocabulary.prefix = [try checked(beginning, "trainer_spec.bos_id")] }
    if addsEnd { vocabulary.suffix = [try checked(end, "trainer_spec.eos_id")] }
    return vocabulary
  }

  private static func fault(_ offset: Int, expected: String, found: String) -> TokenizerError {
    .binary(file: "SentencePiece model", offset: offset, expected: expected, found: found)
  }

  private static func bytes(_ field: ProtobufReader.Field) throws(TokenizerError) -> Range<Int> {
    guard case .bytes(let range) = field.value else {
      throw fault(field.offset, expected: "bytes in field \(field.number)", found: "a number")
    }
    return range
  }

  private static func number(_ field: ProtobufReader.Field) throws(TokenizerError) -> Int {
    // Negative numbers have all 64 bits.
    guard case .varint(let value) = field.value, let number = Int32(exactly: Int64(bitPattern: value)) else {
      throw fault(field.offset, expected: "a 32-bit number in field \(field.number)", found: "something else")
    }
    return Int(number)
  }

  private static func flag(_ field: ProtobufReader.Field) throws(TokenizerError) -> Bool {
    let number = try number(field)
    guard number == 0 || number == 1 else {
      throw fault(field.offset, expected: "0 or 1 in field \(field.number)", found: "\(number)")
    }
    return number == 1
  }

  /// `SentencePiece`: 1 piece, 2 score, 3 type.
  private mutating func readPiece(_ bytes: [UInt8], _ range: Range<Int>) throws(TokenizerError) {
    var piece = SentencePieceVocabulary.Piece(text: [], score: 0, type: .normal)
    var reader = ProtobufReader(bytes, range)
    while let field = try reader.next() {
      switch field.number {
      case 1: piece.text = Array(bytes[try Self.bytes(field)])
      case 2:
        guard case .fixed32(let bits) = field.value else {
          throw Self.fault(field.offset, expected: "a 32-bit score in field 2", found: "something else")
        }
        piece.score = Float(bitPattern: bits)
      case 3:
        let number = try Self.number(field)
        guard let type = SentencePieceVocabulary.PieceType(rawValue: number) else {
          throw Self.fault(field.offset, expected: "a piece type from 1 to 6", found: "\(number)")
        }
        piece.type = type
      default: break
      }
    }
    pieces.append(piece)
  }

  /// `TrainerSpec`: 3 model_type, 24 treat_whitespace_as_suffix, 35 byte_fallback, 41 bos_id, 42 eos_id.
  private mutating func readTrainer(_ bytes: [UInt8], _ range: Range<Int>) throws(TokenizerError) {
    var reader = ProtobufReader(bytes, range)
    while let field = try reader.next() {
      switch field.number {
      case 3:
        switch try Self.number(field) {
        case 1: kind = .unigram
        case 2: kind = .bytePair
        case let other: throw Self.fault(field.offset, expected: "a model of type UNIGRAM (1) or BPE (2)", found: "type \(other)")
        }
      case 24:
        if try Self.flag(field) {
          throw Self.fault(field.offset, expected: "white space in front of words", found: "treat_whitespace_as_suffix")
        }
      case 35: hasByteFallback = try Self.flag(field)
      case 41: beginning = try Self.number(field)
      case 42: end = try Self.number(field)
      default: break
      }
    }
  }

  /// `NormalizerSpec`: 2 precompiled_charsmap, 3 add_dummy_prefix, 4 remove_extra_whitespaces, 5 escape_whitespaces.
  private mutating func readNormalizer(_ bytes: [UInt8], _ range: Range<Int>) throws(TokenizerError) {
    var reader = ProtobufReader(bytes, range)
    while let field = try reader.next() {
      switch field.number {
      case 2:
        let map = try Self.bytes(field)
        if map.isEmpty { continue }
        do throws(CharacterMap.Fault) { normalizer.map = try CharacterMap(Array(bytes[map])) } catch {
          throw .invalidCharacterMap(path: "normalizer_spec.precompiled_charsmap", reason: error.reason)
        }
      case 3: normalizer.addsDummyPrefix = try Self.flag(field)
      case 4: normalizer.removesExtraSpaces = try Self.flag(field)
      case 5: normalizer.escapesSpaces = try Self.flag(field)
      default: break
      }
    }
  }

  private func checkDenormalizer(_ bytes: [UInt8], _ range: Range<Int>) throws(TokenizerError) {
    var reader = ProtobufReader(bytes, range)
    while let field = try reader.next() {
      guard field.number == 2, case .bytes(let map) = field.value, !map.isEmpty else { continue }
      throw Self.fault(field.offset, expected: "no rules for decoding", found: "a denormalizer_spec")
    }
  }
}
