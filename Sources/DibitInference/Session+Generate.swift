internal import DibitTensor
public import DibitTokenizer

/// How a text is continued.
public struct GenerationOptions: Equatable, Sendable {
  /// The most tokens to make.
  public var maximumTokens = 256
  /// How a token is chosen.
  public var sampling = SamplingOptions()
  /// Tokens that end the text and are not part of it.
  public var stopTokens: Set<Int32> = []

  /// Greedy, up to 256 tokens.
  public init() {}
}

/// Why a generation ended.
public enum FinishReason: String, Sendable {
  case stop
  case length
  case interrupted
}

/// A generated text.
public struct Generation: Equatable, Sendable {
  /// The continuation, without the prompt.
  public var text: String
  /// Its tokens.
  public var tokens: [Int32]
  /// Why it ended.
  public var finishReason: FinishReason
}

extension Session {
  /// Continues `prompt`, which is appended first; `receive` gets each piece of text as soon as its characters are whole and ends the
  /// generation by returning false.
  public mutating func generate(
    _ prompt: [Int32], tokenizer: Tokenizer, options: GenerationOptions, receive: (String) -> Bool = { _ in true }
  ) throws(InferenceError) -> Generation {
    try append(prompt)
    var sampler = Sampler(options.sampling)
    var decoder = tokenizer.streamDecoder(skippingSpecialTokens: true)
    // The prompt's end decides whether the text begins with a space.
    for id in prompt { _ = decoder.append(id) }
    var result = Generation(text: "", tokens: [], finishReason: .length)
    while result.tokens.count < options.maximumTokens, count < context {
      let id = withLastLogits { sampler.next($0) }
      if options.stopTokens.contains(id) {
        result.finishReason = .stop
        break
      }
      result.tokens.append(id)
      let piece = decoder.append(id)
      result.text += piece
      guard receive(piece) else {
        result.finishReason = .interrupted
        break
      }
      guard result.tokens.count < options.maximumTokens, count < context else { break }
      try append([id])
    }
    let rest = decoder.finish()
    result.text += rest
    if !rest.isEmpty { _ = receive(rest) }
    return result
  }
}
