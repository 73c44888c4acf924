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
      case "Replace":
        let content = try part.required("content").string()
        steps.append(.replace(pattern: try part.literalPattern(), content: Array(content.utf8)))
      case "NFC": steps.append(.compose)
      default: throw try part.unsupportedType()
      }
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
      case "Split": steps.append(.split(try Self.pattern(part)))
      case "Digits": steps.append(.digits(individual: try part.bool("individual_digits", default: false)))
      case "Metaspace": steps.append(try Self.metaspace(part))
      default: throw try part.unsupportedType()
      }
    }
  }

  private static func pattern(_ part: TokenizerField) throws(TokenizerError) -> SplitPattern {
    let field = try part.required("pattern")
    guard let regexField = try field.optional("Regex") else { throw field.unsupportedValue }
    let regex = try regexField.string()
    guard let pattern = SplitPattern(regex: regex) else { throw .unknownPattern(path: regexField.path, regex: regex) }
    // The patterns match everywhere, so keeping matches apart and dropping what is between them are the same.
    let behavior = try part.required("behavior")
    let invert = try part.bool("invert", default: false)
    switch (try behavior.string(), invert) {
    case ("Isolated", _), ("Removed", true): return pattern
    default: throw behavior.unsupportedValue
    }
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
      default: throw try part.unsupportedType()
      }
    }
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
