internal import DibitJSON

// The parts of a tokenizer file around its model. Sequences of parts are flattened; an unknown part is an error.

extension TokenizerField {
  /// The parts of a component: those of a `Sequence`, each with its own path, or the component itself.
  fileprivate func flattened(_ key: String) throws(TokenizerError) -> [TokenizerField] {
    guard try type() == "Sequence" else { return [self] }
    var parts: [TokenizerField] = []
    for element in try required(key).elements() { parts += try element.flattened(key) }
    return parts
  }
}

extension Normalizer {
  init(_ field: TokenizerField?) throws(TokenizerError) {
    guard let field else { return }
    for part in try field.flattened("normalizers") {
      switch try part.type() {
      case "Prepend": steps.append(.prepend(Array(try part.required("prepend").string().utf8)))
      case "Replace": steps.append(try Self.replacement(part))
      case "NFC": steps.append(.form(isCompatible: false, composes: true))
      case "NFD": steps.append(.form(isCompatible: false, composes: false))
      case "NFKC": steps.append(.form(isCompatible: true, composes: true))
      case "NFKD": steps.append(.form(isCompatible: true, composes: false))
      case "Lowercase": steps.append(.lowercase)
      case "StripAccents": steps.append(.stripAccents)
      case "Nmt": steps.append(.nmt)
      case "Strip":
        steps.append(.strip(left: try part.required("strip_left").bool(), right: try part.required("strip_right").bool()))
      case "Precompiled":
        if let map = try part.characterMap() { steps.append(.precompiled(map)) }
      default: throw try part.unsupportedType()
      }
    }
  }

  private static func replacement(_ part: TokenizerField) throws(TokenizerError) -> Step {
    let content = Array(try part.required("content").string().utf8)
    guard let regex = try part.required("pattern").optional("Regex") else {
      return .replace(pattern: try part.literalPattern(), content: content)
    }
    return .replaceMatches(try regex.program(), content: content)
  }
}

extension TokenizerField {
  /// The map of a `Precompiled` normaliser, or nil when it is empty.
  func characterMap() throws(TokenizerError) -> CharacterMap? {
    guard let field = try optional("precompiled_charsmap") else { return nil }
    guard let bytes = Base64.decoded(try field.string().utf8) else {
      throw .invalidCharacterMap(path: field.path, reason: "it is not base 64")
    }
    if bytes.isEmpty { return nil }
    do throws(CharacterMap.Fault) { return try CharacterMap(bytes) } catch {
      throw .invalidCharacterMap(path: field.path, reason: error.reason)
    }
  }

  /// The pattern that this string is.
  fileprivate func program() throws(TokenizerError) -> RegexProgram {
    let regex = try string()
    do throws(RegexParser.Fault) { return try RegexProgram(parsing: regex) } catch {
      throw .unsupportedPattern(path: path, regex: regex, reason: error.reason)
    }
  }
}

extension PreTokenizer {
  init(_ field: TokenizerField?) throws(TokenizerError) {
    guard let field else { return }
    for part in try field.flattened("pretokenizers") {
      // Byte-level cutting respells the text, so nothing can follow it.
      if isByteLevel { throw try part.unsupportedType() }
      switch try part.type() {
      case "ByteLevel":
        if try part.bool("add_prefix_space", default: true) { steps.append(.prefixSpace) }
        if try part.bool("use_regex", default: true) { steps.append(.split(.gpt2)) }
        isByteLevel = true
      case "Split": steps.append(try Self.split(part))
      case "Digits": steps.append(.digits(individual: try part.bool("individual_digits", default: false)))
      case "Metaspace": steps.append(try Self.metaspace(part))
      case "Whitespace": steps.append(.cut(.word, .removed, isInverted: true))
      case "WhitespaceSplit": steps.append(.cut(.space, .removed, isInverted: false))
      case "Punctuation":
        steps.append(.cut(.punctuation, try part.optional("behavior").map(Self.behavior) ?? .isolated, isInverted: false))
      default: throw try part.unsupportedType()
      }
    }
  }

  private static func behavior(_ field: TokenizerField) throws(TokenizerError) -> Behavior {
    guard let behavior = Behavior(rawValue: try field.string()) else { throw field.unsupportedValue }
    return behavior
  }

  private static func split(_ part: TokenizerField) throws(TokenizerError) -> Step {
    let behavior = try behavior(part.required("behavior"))
    let isInverted = try part.bool("invert", default: false)
    guard let field = try part.required("pattern").optional("Regex") else {
      return .cut(.literal(try part.literalPattern()), behavior, isInverted: isInverted)
    }
    // The known patterns match everywhere, so keeping matches apart and dropping what is between them are the same.
    let keepsAll = behavior == .isolated || (behavior == .removed && isInverted)
    if keepsAll, let pattern = SplitPattern(regex: try field.string()) { return .split(pattern) }
    return .cut(.regex(try field.program()), behavior, isInverted: isInverted)
  }

  private static func metaspace(_ part: TokenizerField) throws(TokenizerError) -> Step {
    let scheme = try part.metaspaceScheme()
    return .metaspace(mark: try part.metaspaceMark(), prepend: scheme, split: try part.bool("split", default: true))
  }
}

extension TokenizerField {
  fileprivate func metaspaceMark() throws(TokenizerError) -> [UInt8] {
    guard let field = try optional("replacement") else { return Array("\u{2581}".utf8) }
    let text = try field.string()
    guard text.unicodeScalars.count == 1 else { throw field.unsupportedValue }
    return Array(text.utf8)
  }

  fileprivate func metaspaceScheme() throws(TokenizerError) -> PreTokenizer.PrependScheme {
    var scheme = PreTokenizer.PrependScheme.always
    if let field = try optional("prepend_scheme") {
      guard let known = PreTokenizer.PrependScheme(rawValue: try field.string()) else { throw field.unsupportedValue }
      scheme = known
    }
    // Files from before the scheme say it with a boolean.
    return try bool("add_prefix_space", default: true) ? scheme : .never
  }
}

extension PostProcessor {
  init(_ field: TokenizerField?, tokens: TokenTable) throws(TokenizerError) {
    guard let field else { return }
    for part in try field.flattened("processors") {
      switch try part.type() {
      case "ByteLevel": break  // Only moves offsets.
      case "TemplateProcessing":
        let template = try Self.template(part, tokens: tokens)
        prefix = template.prefix + prefix
        suffix += template.suffix
      case "BertProcessing", "RobertaProcessing":
        prefix = [try Self.id(part.required("cls"), tokens)] + prefix
        suffix.append(try Self.id(part.required("sep"), tokens))
      default: throw try part.unsupportedType()
      }
    }
  }

  /// The id in a pair of a token and its id.
  private static func id(_ pair: TokenizerField, _ tokens: TokenTable) throws(TokenizerError) -> Int32 {
    let elements = try pair.elements()
    guard elements.count == 2 else { throw pair.unsupportedValue }
    let token = try elements[0].string()
    guard let id = Int32(exactly: try elements[1].integer()), tokens.spelling(of: id) != nil else {
      throw .unknownToken(path: pair.path, token: token)
    }
    return id
  }

  private static func template(_ part: TokenizerField, tokens: TokenTable) throws(TokenizerError) -> PostProcessor {
    var result = PostProcessor()
    var hasText = false
    let single = try part.required("single")
    for element in try single.elements() {
      if let special = try element.optional("SpecialToken") {
        let ids = try ids(of: special.required("id"), part, tokens: tokens)
        if hasText { result.suffix += ids } else { result.prefix += ids }
      } else {
        guard try element.required("Sequence").required("id").string() == "A", !hasText else { throw element.unsupportedValue }
        hasText = true
      }
    }
    guard hasText else { throw single.unsupportedValue }
    return result
  }

  private static func ids(
    of name: TokenizerField, _ part: TokenizerField, tokens: TokenTable
  ) throws(TokenizerError) -> [Int32] {
    let token = try name.string()
    guard let definition = try part.required("special_tokens").optional(token) else {
      throw .unknownToken(path: name.path, token: token)
    }
    var ids: [Int32] = []
    for element in try definition.required("ids").elements() {
      guard let id = Int32(exactly: try element.integer()), tokens.spelling(of: id) != nil else {
        throw .unknownToken(path: element.path, token: String(try element.integer()))
      }
      ids.append(id)
    }
    return ids
  }
}

extension TokenDecoder {
  init(_ field: TokenizerField?) throws(TokenizerError) {
    guard let field else {
      self = .spaced
      return
    }
    let parts = try field.flattened("decoders")
    if parts.count == 1 {
      switch try parts[0].type() {
      case "ByteLevel":
        self = .byteLevel
        return
      case "Metaspace":
        self = .metaspace(mark: try parts[0].metaspaceMark(), dropsFirst: try parts[0].metaspaceScheme() != .never)
        return
      default: break
      }
    }
    var replacements: [Replacement] = []
    var hasByteFallback = false
    var isFused = false
    var strip = Strip()
    for part in parts {
      switch try part.type() {
      case "Replace" where !hasByteFallback && !isFused:
        let content = try part.required("content").string()
        replacements.append(Replacement(pattern: try part.literalPattern(), content: Array(content.utf8)))
      case "ByteFallback" where !isFused: hasByteFallback = true
      case "Fuse": isFused = true
      case "Strip" where isFused && strip.count == 0:
        let stop = try part.required("stop")
        guard try stop.integer() == 0 else { throw stop.unsupportedValue }
        let (content, start) = (try part.required("content"), try part.required("start"))
        guard try content.string().unicodeScalars.count == 1 else { throw content.unsupportedValue }
        guard try start.integer() >= 0 else { throw start.unsupportedValue }
        strip = Strip(content: Array(try content.string().utf8), count: try start.integer())
      default: throw try part.unsupportedType()
      }
    }
    self = .sentencePiece(replacements: replacements, hasByteFallback: hasByteFallback, strip: strip)
  }
}
