internal import DibitCheckpoint
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
internal import DibitInference
package import DibitJSON
package import DibitKernels
package import DibitModel
internal import DibitModelStore
internal import DibitReport
internal import DibitTensor
internal import DibitTokenizer

/// The text that rounding is calibrated on, as windows of tokens: what a user gives, or what the float model writes itself.
package struct CalibrationText {
  /// Tokens of a window, where the context is no shorter.
  private static let window = 512
  /// Tokens of a text without which second moments say nothing, and training learns it by heart.
  private static let minimum = 1_000
  /// Tokens of a user's text that are read.
  private static let maximumRead = 16 << 20
  /// Windows out of ten that are chats, where the model knows such.
  private static let chatShare = 3

  /// Windows of each text that are compared.
  private static let comparedWindows = 4

  private let source: ModelSource
  private let tokenizer: Tokenizer
  /// Windows.
  package let count: Int
  /// Tokens of a window.
  package let length: Int
  /// The model that it is for.
  package var configuration: ModelConfiguration { source.configuration }

  /// Windows to calibrate on. More of them bring a model nearer to its floats, at two bits and at four; they take time, and the training of layers
  /// learns few by heart.
  static func windows(_ effort: Conversion.Effort) -> Int {
    switch effort {
    case .quick: 128
    case .standard: 256
    case .thorough: 384
    }
  }

  /// Windows that are enough to measure what the rounding of single matrices does.
  static let measuredWindows = 12

  /// So many windows of text for a checkpoint.
  package init(for checkpoint: String, tokenizer: String?, windows: Int) throws {
    source = try ModelSource.open(checkpoint)
    length = min(Self.window, source.configuration.contextLength)
    self.tokenizer = try TokenizerSource.open(tokenizer ?? checkpoint, vocabularySize: source.configuration.vocabularySize).tokenizer
    count = windows
  }

  /// As many windows as have at least so many tokens, and as are written side by side.
  package init(for checkpoint: String, tokenizer: String?, atLeast tokens: Int) throws {
    let length = try min(Self.window, ModelSource.open(checkpoint).configuration.contextLength)
    let (width, piece) = (TextWriter.width, TextWriter.width * length)
    try self.init(for: checkpoint, tokenizer: tokenizer, windows: (tokens / piece + (tokens % piece > 0 ? 1 : 0)) * width)
  }

  /// All that a text depends on that the model writes, but the number of windows: more of them begin with the same.
  package func identity(on compute: Compute) throws -> JSONValue {
    let digests = try source.checkpoint.filePaths.map { JSONValue.string(try fileDigest($0)) }
    // What tokenizer and chat template put at the beginning of a text.
    let beginnings = [tokenizer.encode(""), chatBeginning() ?? []].map { JSONValue.array($0.map { .integer(Int($0)) }) }
    return [
      "writer": .array(digests), "window": .integer(length), "isa": .string("\(compute.isa)"), "beginnings": .array(beginnings),
    ]
  }

  /// Windows of the text in files and folders, evenly spaced over it. Conversations follow each other, as in what the model writes itself.
  ///
  /// - Parameter notice: is told what was noticed about the text.
  package func read(_ paths: [String], notice: (String) -> Void = { _ in }) throws -> [[Int32]] {
    var text = MeasuredText(window: length, tokenizer: tokenizer)
    for given in try paths.flatMap(GivenText.open) {
      switch given {
      case .conversations(let conversations, let findings):
        findings.forEach(notice)
        let limit = Self.maximumRead - text.tokens
        text.append(try GivenText.tokens(of: conversations, for: source.path, tokenizer, limit: limit))
      case .plain(let folder):
        var tokens: [Int32] = []
        var reader = folder.makeIterator()
        while text.tokens < Self.maximumRead, let piece = reader.next() {
          tokens += tokenizer.encode(piece.text, addingSpecialTokens: false, parsingSpecialTokens: false)
          guard piece.endsDocument || tokens.count > Self.maximumRead else { continue }
          text.append(tokens)
          tokens = []
        }
        for finding in reader.report.summary { notice("'\(folder.path)': \(finding)") }
      }
    }
    try Self.checkLength(text.tokens, of: paths, to: "calibrate on")
    let windows = text.windows.map(\.tokens)
    guard windows.count > count else { return windows }
    return (0..<count).map { windows[$0 * windows.count / count] }
  }

  /// Refuses a text of so few tokens, read from `paths`, that there is nothing `to` do with it.
  static func checkLength(_ tokens: Int, of paths: [String], to purpose: String) throws(DibitError) {
    guard tokens < minimum else { return }
    let names = paths.isEmpty ? "the text" : paths.map { "'\($0)'" }.joined(separator: ", ")
    throw DibitError(
      .invalidData, "\(names): \(counted(tokens, "token")) to \(purpose); at least \(minimum) are needed, and 50,000 are better")
  }

  /// Windows that the model writes itself, each token drawn from its own probabilities: plain text, and chats of which it writes both sides.
  ///
  /// - Parameters:
  ///   - kept: The first of them, from before.
  ///   - keep: is given the others, some at a time, with the number of those before them.
  /// - Returns: nil when `progress`, told the tokens that are written and their total, returns false.
  package func write(
    behind kept: [[Int32]] = [], keep: ([[Int32]], Int) throws -> Void = { _, _ in }, on compute: Compute,
    progress: (_ done: Int, _ total: Int) -> Bool
  ) throws -> [[Int32]]? {
    guard kept.count < count else { return Array(kept.prefix(count)) }
    let kept = kept.prefix(kept.count / TextWriter.width * TextWriter.width)
    let compute = Compute(isa: compute.isa, threads: compute.threads, floats: .bfloat16)
    let model = MeasuredModel(source.configuration, weights: try source.weights(inBFloat: compute.floats == .bfloat16))
    var writer = TextWriter(model, length: length, on: compute)
    let (plain, chat) = (tokenizer.encode(""), chatBeginning())
    var rng = SplitMix64(seed: 0, purpose: "calibration.beginnings")
    var windows = Array(kept)
    // Beginnings that are drawn are drawn one after the other, those of the kept windows as well.
    for start in stride(from: 0, to: count, by: TextWriter.width) {
      let beginnings = (start..<min(start + TextWriter.width, count)).map { index in
        if let chat, chat.count < length, index % 10 < Self.chatShare { return chat }
        // Where no token begins a text, any may.
        return plain.isEmpty ? [Int32(rng.below(source.configuration.vocabularySize))] : plain
      }
      guard start >= kept.count else { continue }
      guard let written = try writer.write(beginnings, seed: UInt64(start), progress: { progress(start * length + $0, count * length) })
      else { return nil }
      try keep(written, start)
      windows += written
    }
    return windows
  }

  /// Says so where the model predicts windows that a user gave worse than those which it wrote itself; nil where it does not.
  ///
  /// Bits per character of some windows of each are compared. SmolLM2-135M-Instruct has 1.8 on what it writes, 0.9 to 1.2 on English of many kinds, 1.3 on program
  /// code, and 2.2 on German, 3 on Russian and 7 on Japanese, of which it knows little.
  package func finding(about given: [[Int32]], beside own: [[Int32]], on compute: Compute) throws -> String? {
    guard !given.isEmpty, !own.isEmpty else { return nil }
    let compute = Compute(isa: compute.isa, threads: compute.threads, floats: .bfloat16)
    let model = MeasuredModel(source.configuration, weights: try source.weights(inBFloat: compute.floats == .bfloat16))
    func bitsPerCharacter(_ windows: [[Int32]]) -> Double {
      var (text, characters) = (MeasuredText(window: length), 0)
      for index in 0..<min(Self.comparedWindows, windows.count) {
        let window = windows[index * windows.count / min(Self.comparedWindows, windows.count)]
        text.append(window)
        characters += tokenizer.decode(window.dropFirst()).unicodeScalars.count
      }
      return Perplexity.measure(text, model: model, on: compute).bits(per: max(characters, 1))
    }
    let (foreign, familiar) = (bitsPerCharacter(given), bitsPerCharacter(own))
    guard foreign > familiar else { return nil }
    return """
      the model predicts the calibration text at \(fixed(foreign, 2)) bits per character, and what it writes itself at \(fixed(familiar, 2)): it may be in a \
      language that the model does not know, or no running text; leave it out unless the model is to read such text
      """
  }

  /// The tokens of a chat up to where a user's words begin; nil where the model knows no chats.
  private func chatBeginning() -> [Int32]? {
    guard let source = try? ChatSource.open(source.path) else { return nil }
    let format = source.format(for: tokenizer, today: nil)
    guard format.tellsRoles else { return nil }
    // What two chats have in common that begin with other words.
    let chats = ["A", "0"].compactMap { try? format.prompt([ChatMessage(role: .user, content: $0)]) }
    guard chats.count == 2 else { return nil }
    let common = zip(chats[0], chats[1]).prefix { $0 == $1 }.map(\.0)
    return common.isEmpty ? nil : common
  }
}
