/// Deterministic automata over bytes, all in one table. A state is a row of byte ranges; states with many ranges have a dense row too.
struct ByteAutomaton: Sendable {
  struct Arc: Hashable, Sendable {
    var first: UInt8
    var last: UInt8
    var target: Int32
  }

  private(set) var starts: [Int32] = [0]
  private(set) var arcs: [Arc] = []
  private(set) var isAccepting: [Bool] = []
  private var rows: [Int32] = []
  private var dense: [Int32] = []
  /// States whose paths never meet, so that the fewest tokens to their ends can be counted exactly.
  private(set) var trees: [Range<Int>] = []

  /// Ranges from which a state gets a dense row.
  private static let denseFrom = 4
  /// The most dense rows, of 1 KiB each.
  private static let rowLimit = 8192

  var count: Int { isAccepting.count }

  func arcs(of state: Int32) -> ArraySlice<Arc> { arcs[Int(starts[Int(state)])..<Int(starts[Int(state) + 1])] }

  /// The state behind `byte`, or -1.
  func next(_ state: Int32, _ byte: UInt8) -> Int32 {
    let row = rows[Int(state)]
    if row >= 0 { return dense[Int(row) + Int(byte)] }
    for index in Int(starts[Int(state)])..<Int(starts[Int(state) + 1]) where byte >= arcs[index].first {
      if byte <= arcs[index].last { return arcs[index].target }
    }
    return -1
  }

  /// Adds an automaton whose start is state 0 and returns the number of that state.
  mutating func append(_ draft: AutomatonDraft, isTree: Bool = false) -> Int32 {
    let base = Int32(count)
    for (state, ranges) in draft.arcs.enumerated() {
      arcs += ranges.map { Arc(first: $0.first, last: $0.last, target: $0.target + base) }
      starts.append(Int32(arcs.count))
      isAccepting.append(draft.isAccepting[state])
      guard ranges.count >= Self.denseFrom, dense.count < Self.rowLimit * 256 else {
        rows.append(-1)
        continue
      }
      rows.append(Int32(dense.count))
      var row = [Int32](repeating: -1, count: 256)
      for arc in ranges { for byte in arc.first...arc.last { row[Int(byte)] = arc.target + base } }
      dense += row
    }
    if isTree { trees.append(Int(base)..<count) }
    return base
  }

  /// Checks whether the whole of `bytes` leads from `start` to an end.
  func accepts(_ bytes: some Sequence<UInt8>, from start: Int32) -> Bool {
    var state = start
    for byte in bytes {
      state = next(state, byte)
      if state < 0 { return false }
    }
    return isAccepting[Int(state)]
  }
}

/// One automaton in the making; it starts in state 0.
struct AutomatonDraft {
  var arcs: [[ByteAutomaton.Arc]] = []
  var isAccepting: [Bool] = []

  var count: Int { arcs.count }

  mutating func addState(accepting: Bool = false) -> Int32 {
    arcs.append([])
    isAccepting.append(accepting)
    return Int32(arcs.count - 1)
  }

  mutating func addArc(_ from: Int32, _ range: ClosedRange<UInt8>, _ target: Int32) {
    arcs[Int(from)].append(ByteAutomaton.Arc(first: range.lowerBound, last: range.upperBound, target: target))
  }

  mutating func addArc(_ from: Int32, _ character: Unicode.Scalar, _ target: Int32) {
    addArc(from, UInt8(ascii: character)...UInt8(ascii: character), target)
  }

  /// Adds the states of `text` behind a state and returns the last one.
  mutating func addPath(_ from: Int32, _ text: some Sequence<UInt8>) -> Int32 {
    text.reduce(from) { state, byte in
      let next = addState()
      addArc(state, byte...byte, next)
      return next
    }
  }

  /// Arcs in the order of their bytes, as ``ByteAutomaton/next(_:_:)`` needs them.
  mutating func sortArcs() {
    for state in arcs.indices { arcs[state].sort { $0.first < $1.first } }
  }

  /// The same language without states that lead nowhere; nil when the language is empty.
  func trimmed() -> AutomatonDraft? {
    var sources = [[Int32]](repeating: [], count: count)
    for state in arcs.indices { for arc in arcs[state] { sources[Int(arc.target)].append(Int32(state)) } }
    var isUseful = isAccepting
    var work = arcs.indices.filter { isAccepting[$0] }.map(Int32.init)
    while let state = work.popLast() {
      for source in sources[Int(state)] where !isUseful[Int(source)] {
        isUseful[Int(source)] = true
        work.append(source)
      }
    }
    guard let first = isUseful.first, first else { return nil }
    // What is left of the useful states is also reachable: drafts are built from their start.
    var renumbered = [Int32](repeating: -1, count: count)
    var result = AutomatonDraft()
    for state in arcs.indices where isUseful[state] { renumbered[state] = result.addState(accepting: isAccepting[state]) }
    for state in arcs.indices where isUseful[state] {
      for arc in arcs[state].sorted(by: { $0.first < $1.first }) where isUseful[Int(arc.target)] {
        result.addArc(renumbered[state], arc.first...arc.last, renumbered[Int(arc.target)])
      }
    }
    return result
  }

  /// A trie of the strings.
  static func trie(_ strings: [[UInt8]]) -> AutomatonDraft {
    var draft = AutomatonDraft()
    let root = draft.addState()
    var children: [UInt64: Int32] = [:]
    for string in strings {
      var state = root
      for byte in string {
        let key = UInt64(state) << 8 | UInt64(byte)
        if let next = children[key] {
          state = next
        } else {
          let next = draft.addState()
          draft.addArc(state, byte...byte, next)
          children[key] = next
          state = next
        }
      }
      draft.isAccepting[Int(state)] = true
    }
    draft.sortArcs()
    return draft
  }
}
