/// Builds the automaton of the JSON strings, in quotes, that match all of some patterns and have a number of scalars in a range.
struct PatternAutomaton {
  private struct Key: Hashable {
    var positions: [PatternMachine.Position]
    var count: Int
  }

  private let machines: [PatternMachine]
  private let minimum: Int
  private let maximum: Int?
  /// The first scalar of each class; scalars of one class are alike for all sets.
  private var classes: [UInt32] = []
  /// For each machine and set, whether each class is a member.
  private var members: [[[Bool]]] = []
  private var states: [Key: Int32] = [:]
  private var work: [(state: Int32, key: Key)] = []
  private var encoder: ScalarEncoder
  private var effort = 0
  private static let stateLimit = 5000
  /// Steps times classes, summed over the states: what bounds the time.
  private static let effortLimit = 20_000_000

  init(_ machines: [PatternMachine], minimum: Int, maximum: Int?) {
    (self.machines, self.minimum, self.maximum) = (machines, minimum, maximum)
    encoder = ScalarEncoder()
    var edges: Set<UInt32> = [0, 0xD800, 0xE000]
    for range in machines.flatMap(\.sets).flatMap(\.ranges) { edges.formUnion([range.lowerBound, range.upperBound + 1]) }
    let classes = edges.filter { $0 <= 0x10FFFF }.sorted()
    self.classes = classes
    members = machines.map { $0.sets.map { set in classes.map(set.contains) } }
  }

  enum Outcome {
    case draft(AutomatonDraft)
    case empty
    case tooManyStates(limit: Int)
  }

  mutating func build() -> Outcome {
    let open = encoder.draft.addState()
    let start = intern(Key(positions: machines.map { $0.begin() }, count: 0))
    encoder.draft.addArc(open, "\"", start)
    let close = encoder.draft.addState(accepting: true)
    while let (state, key) = work.popLast() {
      effort += classes.count * (1 + key.positions.reduce(0) { $0 + $1.steps.count })
      guard states.count <= Self.stateLimit, effort <= Self.effortLimit, encoder.draft.count <= 20 * Self.stateLimit else {
        return .tooManyStates(limit: Self.stateLimit)
      }
      if key.count >= minimum, key.positions.allSatisfy(\.matches) { encoder.draft.addArc(state, "\"", close) }
      if let maximum, key.count >= maximum { continue }
      encoder.addArcs(from: state, arcs(of: key))
    }
    return encoder.draft.trimmed().map(Outcome.draft) ?? .empty
  }

  private mutating func intern(_ key: Key) -> Int32 {
    if let state = states[key] { return state }
    let state = encoder.draft.addState()
    states[key] = state
    work.append((state, key))
    return state
  }

  /// Returns the target of each class of scalars.
  private mutating func arcs(of key: Key) -> [ScalarEncoder.Arc] {
    let count = maximum == nil ? min(key.count + 1, minimum) : key.count + 1
    var arcs: [ScalarEncoder.Arc] = []
    // Classes with the same members lead to the same state.
    var known: [[Int]: Int32?] = [:]
    for (index, first) in classes.enumerated() {
      let last = index + 1 < classes.count ? classes[index + 1] - 1 : 0x10FFFF
      if (0xD800...0xDFFF).contains(first) { continue }
      var next: [[Int]] = []
      for (number, machine) in machines.enumerated() {
        next.append(
          key.positions[number].steps.compactMap { step in
            guard case .set(let set, let target) = machine.steps[Int(step)], members[number][set][index] else { return nil }
            return target
          })
      }
      let signature = Array(next.joined(separator: [-1]))
      let target: Int32?
      if let found = known[signature] {
        target = found
      } else {
        let positions = zip(machines, next).map { $0.close($1, atStart: false) }
        let isDead = positions.contains { $0.steps.isEmpty && !$0.matches }
        target = isDead ? nil : intern(Key(positions: positions, count: count))
        known[signature] = .some(target)
      }
      guard let target else { continue }
      if let previous = arcs.last, previous.target == target, previous.last + 1 == first {
        arcs[arcs.count - 1].last = last
      } else {
        arcs.append(ScalarEncoder.Arc(first: first, last: last, target: target))
      }
    }
    return arcs
  }
}
