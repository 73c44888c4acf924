/// The last tokens of a text, in no particular order.
struct RecentTokens: Sendable {
  /// The tokens.
  private(set) var ids: [Int32] = []
  /// The number of tokens that were recorded in all.
  private(set) var recorded = 0
  private let window: Int

  /// Remembers the last `window` tokens.
  init(window: Int) {
    self.window = window
    ids.reserveCapacity(min(window, 1024))
  }

  mutating func record(_ id: Int32) {
    if ids.count < window { ids.append(id) } else if window > 0 { ids[recorded % window] = id }
    recorded += 1
  }
}
