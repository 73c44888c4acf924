internal import DibitFailure
package import DibitCheckpoint
internal import DibitFiles
internal import DibitJSON
internal import DibitTensor
package import DibitTokenizer

/// Finds the tokenizer of a model, in whatever form its source keeps it.
///
/// Known are Hugging Face's tokenizer.json, SentencePiece's tokenizer.model, the vocabulary inside a GGUF file and llama2.c's
/// tokenizer.bin; files are recognised by their contents.
package struct TokenizerSource: Sendable {
  /// The tokenizer.
  package let tokenizer: Tokenizer
  /// The bytes of its tokenizer.json: those of the source where it has one.
  package let json: [UInt8]

  private init(_ tokenizer: Tokenizer, json: [UInt8]? = nil) {
    self.tokenizer = tokenizer
    self.json = json ?? Array((tokenizer.serialized() + "\n").utf8)
  }

  /// Reads a tokenizer file, or the tokenizer of a model directory or file.
  ///
  /// - Parameter vocabularySize: The model's, where it is known: it names the files of llama2.c.
  package static func open(_ path: String, vocabularySize: Int? = nil) throws(ModelStoreError) -> TokenizerSource {
    let found = try located(path, vocabularySize)
    return try read(found.file, besides: found.directory)
  }

  /// The file that ``open(_:vocabularySize:)`` reads; nil where there is none.
  static func file(of path: String, vocabularySize: Int? = nil) -> String? { (try? located(path, vocabularySize))?.file.path }

  /// The file, and the directory whose settings count for it.
  private static func located(_ path: String, _ vocabularySize: Int?) throws(ModelStoreError) -> (file: MappedFile, directory: String?) {
    if isDirectory(path) { return try directory(path, vocabularySize) }
    if let file = try candidate(path) { return (file, nil) }
    // The weights of a model: its tokenizer lies beside them.
    return try directory(ModelSource.directory(of: path), vocabularySize)
  }

  /// A tokenizer file; nil for a file of weights that holds no tokenizer.
  private static func candidate(_ path: String) throws(ModelStoreError) -> MappedFile? {
    let file = try rethrow(as: ModelStoreError.file, MappedFile(path: path))
    switch FileKind.recognise(file.bytes) {
    case .safetensors, .pytorch, .hdf5, .llama2c: return nil
    default: return file
    }
  }

  private static func directory(_ path: String, _ vocabularySize: Int?) throws(ModelStoreError) -> (file: MappedFile, directory: String?) {
    var names = [StoreFile.tokenizer, "tokenizer.model", "assets/tokenizer/vocabulary.spm", "tokenizer.bin"]
    if let vocabularySize { names.append("tok\(vocabularySize).bin") }
    for name in names where isRegularFile(path + "/" + name) {
      guard let file = try candidate(path + "/" + name) else { continue }
      if name == StoreFile.tokenizer, isKerasDescription(file) { continue }
      return (file, path)
    }
    if let file = ggufFile(of: path) { return (file, nil) }
    throw .noTokenizer(path: path)
  }

  /// KerasHub calls its own description, which is short, tokenizer.json too; the vocabulary is under assets.
  private static func isKerasDescription(_ file: MappedFile) -> Bool {
    file.bytes.count < 1 << 16 && (try? JSONValue(parsing: file.bytes.array))?["registered_name"] != nil
  }

  private static func read(_ file: MappedFile, besides directory: String? = nil) throws(ModelStoreError) -> TokenizerSource {
    let kind = FileKind.recognise(file.bytes)
    if kind == .gguf {
      let gguf = try rethrow(as: ModelStoreError.checkpoint, GGUFFile(file.bytes, file: file.path))
      return try lift(file.path) { () throws(TokenizerError) in TokenizerSource(try Tokenizer(gguf: GGUFVocabulary(gguf))) }
    }
    guard file.bytes.count <= StoreFile.largest else {
      throw .file(.tooLarge(path: file.path, limit: StoreFile.largest, found: file.bytes.count))
    }
    let bytes = file.bytes.array
    return try lift(file.path) { () throws(TokenizerError) in
      switch kind {
      case .sentencePiece:
        let settings = directory.map(Settings.init) ?? Settings()
        return TokenizerSource(try Tokenizer(sentencePiece: bytes, addingBeginning: settings.addsBeginning, addingEnd: settings.addsEnd))
      case .json,
        nil where bytes.first == UInt8(ascii: "{"), .text where bytes.first == UInt8(ascii: "["):
        return TokenizerSource(try Tokenizer(parsing: bytes), json: bytes)
      default:
        guard let count = Llama2CVocabulary.count(bytes) else { return TokenizerSource(try Tokenizer(parsing: bytes), json: bytes) }
        return TokenizerSource(try Tokenizer(llama2c: bytes, vocabularySize: count))
      }
    }
  }

  private static func lift(_ path: String, _ body: () throws(TokenizerError) -> TokenizerSource) throws(ModelStoreError) -> TokenizerSource
  {
    do throws(TokenizerError) { return try body() } catch { throw .tokenizer(error, path: path) }
  }

  /// The facts that a directory gives about a SentencePiece model, which does not give them itself.
  private struct Settings {
    var addsBeginning = true
    var addsEnd = false

    init() {}

    init(_ directory: String) {
      guard let json = try? readJSON(StoreFile.tokenizerConfiguration, in: directory) else { return }
      addsBeginning = json["add_bos_token"]?.bool ?? true
      addsEnd = json["add_eos_token"]?.bool ?? false
    }
  }
}

/// The `tokenizer.bin` of llama2.c, which does not say how many pieces it holds.
private enum Llama2CVocabulary {
  /// The number of pieces when the file is nothing but pieces; nil for any other file.
  static func count(_ bytes: [UInt8]) -> Int? {
    func word(_ offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) } }
    var (offset, count) = (4, 0)
    while bytes.count - offset >= 8 {
      let length = word(offset + 4)
      guard length <= bytes.count - offset - 8 else { return nil }
      offset += 8 + length
      count += 1
    }
    return offset == bytes.count && count > 0 ? count : nil
  }
}

extension Tokenizer {
  /// Checks that an embedding of so many rows has many more than padding explains: such a model was not made with this tokenizer.
  package func isFar(from rows: Int) -> Bool { rows - vocabularyCount > max(512, rows / 16) }

  /// The special tokens of `other` that have another id here, or none, in the order of their ids.
  package func specialTokensMissing(of other: Tokenizer) -> [String] {
    (0..<other.vocabularyCount).compactMap { index in
      let id = Int32(index)
      guard other.isSpecial(id), let token = other.token(of: id), self.id(of: token) != id else { return nil }
      return token
    }
  }
}

/// The GGUF file that holds all of a model: the file itself, or that of a directory; nil for a model of any other form.
func ggufFile(of path: String) -> MappedFile? {
  guard let whole = Checkpoint.wholeFile(of: path), let file = try? MappedFile(path: whole), FileKind.recognise(file.bytes) == .gguf
  else { return nil }
  return file
}

extension GGUFVocabulary {
  /// The keys `tokenizer.*` of a file.
  package init(_ file: GGUFFile) {
    func key(_ name: String) -> GGUFValue? { file["tokenizer.ggml." + name] }
    func strings(_ name: String) -> [[UInt8]]? { key(name)?.array?.strings.map { $0.map { Array($0) } } }
    self.init(model: key("model")?.text ?? "", tokens: strings("tokens") ?? [])
    pre = key("pre")?.text
    scores = key("scores")?.array?.floats
    tokenTypes = key("token_type")?.array?.ints
    merges = strings("merges")
    (beginningID, endID) = (key("bos_token_id")?.int, key("eos_token_id")?.int)
    (unknownID, paddingID) = (key("unknown_token_id")?.int, key("padding_token_id")?.int)
    (addsBeginning, addsEnd) = (key("add_bos_token")?.bool, key("add_eos_token")?.bool)
    addsSpacePrefix = key("add_space_prefix")?.bool
    removesExtraSpaces = key("remove_extra_whitespaces")?.bool
    if case .array(.uint8(let bytes)) = key("precompiled_charsmap") { characterMap = bytes }
    if case .array(.int8(let bytes)) = key("precompiled_charsmap") { characterMap = bytes.map { UInt8(bitPattern: $0) } }
    chatTemplate = file["tokenizer.chat_template"]?.text
  }
}
