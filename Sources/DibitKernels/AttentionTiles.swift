internal import DibitTensor

extension Attention {
  /// The cut of a pass's queries into tasks. A query's result does not depend on the cut.
  ///
  /// A task is a few tokens of one segment with all query heads that share a key/value head, so that keys and values are read once for
  /// all of them; only where that leaves threads idle are those heads divided.
  struct Tiles {
    /// Keys and values are read in blocks of this many tokens.
    static let keyBlock = 64
    /// Queries that share a block of keys: more would push it out of the first cache.
    private static let maximumRows = 64
    /// Scores of a task stay in the second cache: 256 KiB.
    private static let maximumScores = 65_536

    /// Tokens of a task.
    let tokens: Int
    /// The number of tasks, some of which may lie behind the end of a short segment.
    let count: Int
    private let segments: Int
    private let keyValueHeads: Int
    private let sharedHeads: Int
    private let parts: Int
    private let partHeads: Int
    private let keys: Int

    init(_ attention: Attention, _ segments: borrowing Segments, threads: Int) {
      self.segments = segments.count
      keyValueHeads = attention.keyValueHeads
      sharedHeads = attention.heads / attention.keyValueHeads
      keys = (segments.longest + Self.keyBlock - 1) / Self.keyBlock * Self.keyBlock
      tokens = max(1, min(min(Self.maximumRows, Self.maximumScores / max(keys, 1)) / sharedHeads, segments.maximumRows))
      let tiles = (segments.maximumRows + tokens - 1) / tokens
      let tasks = tiles * segments.count * keyValueHeads
      partHeads = tasks == 0 ? sharedHeads : max(1, sharedHeads * tasks / max(threads, tasks))
      parts = (sharedHeads + partHeads - 1) / partHeads
      count = tasks * parts
    }

    /// Returns what a task computes. Late tokens see most keys and come first, which lets threads finish together.
    func tile(_ task: Int) -> (segment: Int, keyValueHead: Int, head: Int, heads: Int, token: Int) {
      let (part, rest) = (task % parts, task / parts)
      let (keyValueHead, others) = (rest % keyValueHeads, rest / keyValueHeads)
      let tiles = count / (parts * keyValueHeads * segments)
      let head = part * partHeads
      return (
        others % segments, keyValueHead, keyValueHead * sharedHeads + head, min(partHeads, sharedHeads - head),
        (tiles - 1 - others / segments) * tokens
      )
    }

    /// Floats that a task needs; see attention.inc.h.
    func scratchCount(headSize: Int) -> Int { scratchCount(headSize: headSize, tokens: tokens, keys: keys) }

    /// Floats that a task of so many tokens needs that see so many keys.
    func scratchCount(headSize: Int, tokens: Int, keys: Int) -> Int {
      let keys = (keys + Self.keyBlock - 1) / Self.keyBlock * Self.keyBlock
      let (width, rows) = ((headSize + 15) / 16 * 16, tokens * sharedHeads)
      return Self.keyBlock * width + (rows + 15) / 16 * 16 + rows * (2 * width + keys + 16)
    }

    /// Floats that a task of the backward pass needs.
    func backwardScratchCount(headSize: Int) -> Int {
      let (width, rows) = ((headSize + 15) / 16 * 16, tokens * sharedHeads)
      return 4 * keys * width + rows * (3 * width + 2 * (keys + 16))
    }
  }
}
