/// The steps by which a normalised text is cut into the pieces that are encoded on their own.
struct PreTokenizer: Sendable, Equatable {
  enum PrependScheme: String, Sendable, Equatable {
    case always
    /// Only at the very start of the text.
    case first
    case never
  }

  /// The treatment of the matches of a pattern that cuts.
  enum Behavior: String, Sendable, Equatable {
    case removed = "Removed"
    case isolated = "Isolated"
    case mergedWithPrevious = "MergedWithPrevious"
    case mergedWithNext = "MergedWithNext"
    case contiguous = "Contiguous"
  }

  /// The pattern that a cutting step looks for.
  enum Matcher: Sendable, Equatable {
    case literal([UInt8])
    case regex(RegexProgram)
    /// One scalar of punctuation: ASCII's, or the `\p{P}` of Unicode 8.
    case punctuation
    /// A run of `\w`, or of what is neither `\w` nor space.
    case word
    /// One scalar of white space.
    case space
  }

  enum Step: Sendable, Equatable {
    case split(SplitPattern)
    case cut(Matcher, Behavior, isInverted: Bool)
    /// Cuts out numbers: each digit, or whole runs.
    case digits(individual: Bool)
    /// Puts a space in front of every piece that has none; ``PreTokenizer/isByteLevel`` does the rest.
    case prefixSpace
    /// Replaces spaces by a mark, puts one in front, and cuts before every mark.
    case metaspace(mark: [UInt8], prepend: PrependScheme, split: Bool)
    /// Cuts before every mark that another scalar stands before; not of the file, but where it changes no ids.
    case beforeMark([UInt8])
    /// Cuts before and after the longest of some texts, as SentencePiece does with user-defined pieces.
    case verbatim(Normalizer.VerbatimTrie)
  }

  var steps: [Step] = []
  /// True where the model's symbols are bytes, spelled with ``ByteAlphabet``, instead of scalars.
  var isByteLevel = false

  /// True where pieces depend on being at the start of the text.
  var marksStart: Bool {
    steps.contains { if case .metaspace(_, .first, _) = $0 { true } else { false } }
  }

  /// True where text may be removed before pieces are asked whether they are at the start.
  var removesBeforeStart: Bool {
    var removes = false
    for step in steps {
      switch step {
      case .cut(_, .removed, _): removes = true
      case .metaspace(_, .first, _): return removes
      default: break
      }
    }
    return false
  }

  /// Calls `body` with each piece of `text[range]`, which is not empty. `isFirst` says that it starts the whole text.
  func forEachPiece(of text: [UInt8], in range: Range<Int>, isFirst: Bool, _ body: ([UInt8], Range<Int>) -> Void) {
    cut(text, range, isFirst: isFirst, step: 0, body)
  }

  private func cut(_ text: [UInt8], _ range: Range<Int>, isFirst: Bool, step: Int, _ body: ([UInt8], Range<Int>) -> Void) {
    guard step < steps.count else { return body(text, range) }
    switch steps[step] {
    case .split(let pattern):
      let scanner = ScalarScanner(bytes: text, end: range.upperBound)
      cut(text, range, isFirst: isFirst, step: step, body) { pattern.matchEnd(in: scanner, at: $0) }
    case .cut(let matcher, let behavior, let isInverted):
      for part in Self.parts(text, range, matcher, behavior, isInverted) {
        cut(text, part, isFirst: isFirst && part.lowerBound == range.lowerBound, step: step + 1, body)
      }
    case .digits(let individual):
      let scanner = ScalarScanner(bytes: text, end: range.upperBound)
      cut(text, range, isFirst: isFirst, step: step, body) { start in
        let (kind, next) = scanner.step(start)
        if kind != .number { return scanner.run(from: next) { $0 != .number } }
        return individual ? next : scanner.run(from: next) { $0 == .number }
      }
    case .prefixSpace:
      if text[range.lowerBound] == 0x20 { return cut(text, range, isFirst: isFirst, step: step + 1, body) }
      let prefixed = [0x20] + text[range]
      cut(prefixed, 0..<prefixed.count, isFirst: isFirst, step: step + 1, body)
    case .metaspace(let mark, let prepend, let split):
      var marked = Array(text[range]).replacing([0x20], by: mark)
      if !marked.starts(with: mark), prepend == .always || (prepend == .first && isFirst) { marked = mark + marked }
      let end = marked.count
      cut(marked, 0..<end, isFirst: isFirst, step: step, body) { start in
        guard split, let first = mark.first else { return end }
        var index = start + 1
        while index < end, marked[index] != first || !marked.holds(mark, at: index) { index += 1 }
        return index
      }
    case .beforeMark(let mark):
      cut(text, range, isFirst: isFirst, step: step, body) { start in
        var index = start
        while range.upperBound - index >= mark.count, text.holds(mark, at: index) { index += mark.count }
        while index < range.upperBound, text[index] != mark[0] || !text.holds(mark, at: index) { index += 1 }
        return index
      }
    case .verbatim(let tree):
      cut(text, range, isFirst: isFirst, step: step, body) { start in
        if let length = SentencePieceNormalizer.verbatimLength(text, start, tree.trie) { return start + length }
        var index = start
        repeat {
          index = text[index] < 0x80 ? index + 1 : ScalarScanner.scalar(in: text, at: index).next
        } while index < range.upperBound && SentencePieceNormalizer.verbatimLength(text, index, tree.trie) == nil
        return index
      }
    }
  }

  /// Hands consecutive parts of `text[range]` to the next step; `partEnd` gives the end of the part at an offset.
  private func cut(
    _ text: [UInt8], _ range: Range<Int>, isFirst: Bool, step: Int, _ body: ([UInt8], Range<Int>) -> Void, partEnd: (Int) -> Int
  ) {
    var start = range.lowerBound
    while start < range.upperBound {
      let end = partEnd(start)
      cut(text, start..<end, isFirst: isFirst && start == range.lowerBound, step: step + 1, body)
      start = end
    }
  }
}

extension PreTokenizer {
  /// This with a last cut before marks of spaces, when no merge of the model goes across one: words can then be encoded, and
  /// remembered, one by one.
  func cuttingBeforeMarks(for model: TokenModel) -> PreTokenizer {
    guard case .bytePair(let model) = model, !isByteLevel, !model.ignoresMerges else { return self }
    for mark in [SentencePieceNormalizer.mark, [0x20]] where model.isCut(before: mark) {
      var result = self
      result.steps.append(.beforeMark(mark))
      return result
    }
    return self
  }
}
