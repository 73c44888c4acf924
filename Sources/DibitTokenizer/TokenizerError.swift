package import DibitFailure
package import DibitJSON

/// The reasons for which a tokenizer.json cannot be used, or a tokenizer cannot be trained. Paths name members of the file: `model.vocab`.
package enum TokenizerError: EngineError, Equatable {
  case json(JSONError)
  case missing(path: String)
  case wrongType(path: String, expected: String, found: String)
  /// A component that would change ids or text and that this library does not have.
  case unsupportedType(path: String, type: String)
  case unsupportedValue(path: String, value: String)
  /// A regular expression that is malformed, or that needs what this library does not have.
  case unsupportedPattern(path: String, regex: String, reason: String)
  /// A `precompiled_charsmap` that cannot be used.
  case invalidCharacterMap(path: String, reason: String)
  case idOutOfRange(token: String, id: Int, limit: Int)
  case duplicateID(Int, first: String, second: String)
  case conflictingID(token: String, vocabulary: Int, added: Int)
  case duplicateAddedToken(String)
  case emptyAddedToken(id: Int)
  case unknownToken(path: String, token: String)
  /// An entry of a unigram vocabulary that is no pair of a piece and a finite score.
  case malformedPiece(index: Int)
  case duplicatePiece(String, first: Int, second: Int)
  /// A piece of a scored vocabulary that cannot be used.
  case unusablePiece(index: Int, reason: String)
  /// A binary file that is damaged, or that asks for what this library does not have.
  case binary(file: String, offset: Int, expected: String, found: String)
  /// A part of a tokenizer file that contradicts what the file's `model.sentencepiece` says.
  case contradiction(path: String)
  case malformedMerge(rank: Int)
  case unknownMergeToken(rank: Int, token: String)
  case vocabularyTooSmall(size: Int, minimum: Int)
  /// A special token that is empty, repeated, or spelled like one of the 256 byte tokens.
  case invalidSpecialToken(String)
}

extension TokenizerError {
  /// The kind of failure.
  package var kind: FailureKind { .badData }

  /// The fault in one sentence.
  package var description: String {
    switch self {
    case .json(let error): "the tokenizer file is not JSON: \(error)"
    case .missing(let path): "the tokenizer file has no '\(path)'"
    case .wrongType(let path, let expected, let found): "'\(path)' in the tokenizer file must be \(expected), not \(found)"
    case .unsupportedType(let path, let type): "'\(path)' in the tokenizer file is of type '\(type)', which is not supported"
    case .unsupportedValue(let path, let value): "'\(path)' in the tokenizer file is \(value), which is not supported"
    case .unsupportedPattern(let path, let regex, let reason):
      "'\(path)' in the tokenizer file is a pattern that is not supported, because \(reason): \(regex.prefix(500))"
    case .invalidCharacterMap(let path, let reason): "'\(path)' in the tokenizer file is no character map: \(reason)"
    case .idOutOfRange(let token, let id, let limit): "the token '\(token)' has the id \(id), but ids must be from 0 to \(limit - 1)"
    case .duplicateID(let id, let first, let second): "the tokens '\(first)' and '\(second)' share the id \(id)"
    case .conflictingID(let token, let vocabulary, let added):
      "the token '\(token)' has the id \(vocabulary) in the vocabulary but \(added) among the added tokens"
    case .duplicateAddedToken(let token): "the added token '\(token)' is listed twice"
    case .emptyAddedToken(let id): "the added token with the id \(id) has no text"
    case .unknownToken(let path, let token): "'\(path)' in the tokenizer file names '\(token)', which is not in the vocabulary"
    case .malformedPiece(let index): "entry \(index) of the vocabulary in the tokenizer file is not a piece and a finite score"
    case .duplicatePiece(let piece, let first, let second): "the piece '\(piece)' is listed twice, with the ids \(first) and \(second)"
    case .unusablePiece(let index, let reason): "piece \(index) of the vocabulary cannot be used: \(reason)"
    case .binary(let file, let offset, let expected, let found): "the \(file) has \(found) at byte \(offset), but needs \(expected)"
    case .contradiction(let path): "'\(path)' in the tokenizer file is not what 'model.sentencepiece' implies"
    case .malformedMerge(let rank): "merge \(rank) in the tokenizer file is not a pair of tokens"
    case .unknownMergeToken(let rank, let token): "merge \(rank) in the tokenizer file needs '\(token)', which is not in the vocabulary"
    case .vocabularyTooSmall(let size, let minimum):
      "a vocabulary of \(size) tokens cannot hold the bytes and special tokens, which need \(minimum)"
    case .invalidSpecialToken(let token): "the special token '\(token)' is empty, repeated, or spelled like a byte"
    }
  }
}
