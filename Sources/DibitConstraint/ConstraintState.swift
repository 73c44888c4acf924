/// A text under a constraint, token by token.
///
/// A loop asks for the mask, chooses an allowed token and passes it to ``advance(_:)``:
///
///     var state = constraint.start()
///     var mask = TokenMask(count: vocabulary.count)
///     while !state.hasEnded, remaining > 0 {
///       state.mask(into: &mask, remaining: remaining)
///       ...
///     }
///
/// A copy goes its own way.
package struct ConstraintState: Sendable {
  let program: TokenConstraint
  var walker: Walker
  var front = Front()
  /// True once an end token was taken.
  package private(set) var hasEnded = false
  private var masks: [MaskKey: KnownMask] = [:]
  var scratch: TokenMask
  /// The memory into which ``advance(_:)`` writes the next front; kept from call to call.
  private var spare = (Front(), Front())

  private struct MaskKey: Hashable {
    var ways: [Configuration]
    var isComplete: Bool
  }

  struct KnownMask: Sendable {
    var mask: TokenMask
    /// The highest costs behind an allowed token: with more tokens left than that, no limit matters.
    var worst: Int32
  }

  /// Masks that a state remembers.
  private static let maskLimit = 128
  /// Ways that are followed from one token to the next. Others are dropped: what is left is still within the constraint.
  private static let wayLimit = 5000

  init(_ program: TokenConstraint) {
    self.program = program
    walker = Walker(program)
    scratch = TokenMask(count: program.vocabulary.count)
    walker.begin(&front)
  }

  /// True where the text may end here.
  package var isComplete: Bool { !hasEnded && front.isComplete }

  /// True where the text must end here: nothing can follow.
  package var mustEnd: Bool { hasEnded || front.ways.isEmpty }

  /// The tokens that suffice to reach an end from here, the end token not counted: an upper bound of the shortest way, and 0 where
  /// the text may end.
  package var tokensToEnd: Int { hasEnded ? 0 : Int(walker.cost(front)) }

  /// Takes a token.
  ///
  /// - Returns: Whether it was allowed; if not, the state stays as it is.
  /// - Complexity: O(bytes of the token)
  @discardableResult package mutating func advance(_ token: Int32) -> Bool {
    if hasEnded { return false }
    if program.vocabulary.endTokens.contains(token) {
      guard front.isComplete else { return false }
      hasEnded = true
      front.removeAll()
      return true
    }
    let bytes = program.vocabulary.bytes(of: token)
    guard let first = bytes.first else { return false }
    walker.step(front, first, into: &spare.0)
    for byte in bytes.dropFirst() where !spare.0.isDead {
      walker.step(spare.0, byte, into: &spare.1)
      swap(&spare.0, &spare.1)
    }
    guard !spare.0.isDead, walker.cost(spare.0) < Costs.impossible else { return false }
    swap(&front, &spare.0)
    if front.ways.count > Self.wayLimit {
      let costs = front.ways.map { walker.cost($0) }
      let cheapest = costs.indices.min { costs[$0] < costs[$1] } ?? 0
      front.prune(to: Self.wayLimit, keeping: cheapest)
    }
    return true
  }

  /// Returns whether a token may come next.
  package mutating func allows(_ token: Int32) -> Bool {
    if hasEnded { return false }
    if program.vocabulary.endTokens.contains(token) { return front.isComplete }
    let bytes = program.vocabulary.bytes(of: token)
    guard !bytes.isEmpty, let next = reach(bytes, from: front) else { return false }
    return walker.cost(next) < Costs.impossible
  }

  /// The front behind some bytes, or nil when they lead nowhere.
  mutating func reach(_ bytes: some Sequence<UInt8>, from start: Front) -> Front? {
    var (current, next) = (start, Front())
    for byte in bytes {
      walker.step(current, byte, into: &next)
      if next.isDead { return nil }
      swap(&current, &next)
    }
    return current
  }

  /// Writes which tokens may come next.
  ///
  /// - Parameters:
  ///   - mask: A mask of the vocabulary's size; what it held is gone.
  ///   - remaining: How many tokens may still come, this one included and an end token not. Tokens behind which the text could not be
  ///     brought to an end in time are left out, so that a text that is cut off there is whole: as long as there were
  ///     ``tokensToEnd`` tokens at the start, every text ends in time. With fewer the shortest way is taken.
  package mutating func mask(into mask: inout TokenMask, remaining: Int = .max) {
    if mask.count != program.vocabulary.count { mask = TokenMask(count: program.vocabulary.count) }
    guard !hasEnded else {
      mask.clear()
      return
    }
    let key = MaskKey(ways: front.ways, isComplete: front.isComplete)
    let known = masks[key] ?? makeMask(key)
    let budget = max(max(remaining, 0) - 1, Int(walker.cost(front)) - 1)
    if budget >= Int(known.worst) {
      mask = known.mask
    } else {
      _ = fill(&mask, budget: Int32(budget))
    }
  }

  private mutating func makeMask(_ key: MaskKey) -> KnownMask {
    var made = KnownMask(mask: TokenMask(count: program.vocabulary.count), worst: 0)
    made.worst = fill(&made.mask, budget: Costs.impossible - 1)
    // Starting again is simpler than choosing what to forget, and rare.
    if masks.count >= Self.maskLimit { masks.removeAll(keepingCapacity: true) }
    masks[key] = made
    return made
  }
}
