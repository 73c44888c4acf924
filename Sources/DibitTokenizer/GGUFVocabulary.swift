/// The values of the keys `tokenizer.ggml.*` of a GGUF file, as they stand there; the reader of the file fills this in.
package struct GGUFVocabulary: Sendable, Equatable {
  /// `tokenizer.ggml.model`: `llama` (SentencePiece byte pairs), `gpt2` (byte pairs of bytes) or `t5` (SentencePiece unigram).
  package var model: String
  /// `tokenizer.ggml.pre`: which pattern cuts the text of a `gpt2` vocabulary.
  package var pre: String?
  /// `tokenizer.ggml.tokens`, by id.
  package var tokens: [[UInt8]]
  /// `tokenizer.ggml.scores`, by id.
  package var scores: [Float]?
  /// `tokenizer.ggml.token_type`, by id: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte.
  package var tokenTypes: [Int]?
  /// `tokenizer.ggml.merges`: `left right`.
  package var merges: [[UInt8]]?
  /// `tokenizer.ggml.bos_token_id`.
  package var beginningID: Int?
  /// `tokenizer.ggml.eos_token_id`.
  package var endID: Int?
  /// `tokenizer.ggml.unknown_token_id`.
  package var unknownID: Int?
  /// `tokenizer.ggml.padding_token_id`.
  package var paddingID: Int?
  /// `tokenizer.ggml.add_bos_token`.
  package var addsBeginning: Bool?
  /// `tokenizer.ggml.add_eos_token`.
  package var addsEnd: Bool?
  /// `tokenizer.ggml.add_space_prefix`.
  package var addsSpacePrefix: Bool?
  /// `tokenizer.ggml.remove_extra_whitespaces`.
  package var removesExtraSpaces: Bool?
  /// `tokenizer.ggml.precompiled_charsmap`.
  package var characterMap: [UInt8]?
  /// `tokenizer.chat_template`, which the tokenizer itself does not use.
  package var chatTemplate: String?

  /// A vocabulary of these tokens; everything else is set afterwards.
  package init(model: String, tokens: [[UInt8]]) {
    self.model = model
    self.tokens = tokens
  }
}
