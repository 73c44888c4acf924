/// A pattern as a nondeterministic automaton over scalars that searches: any text may stand before and behind the match.
struct PatternMachine {
  enum Step {
    case set(Int, next: Int)
    case fork(Int, Int)
    case start(next: Int)
    case end(next: Int)
    case match
  }

  private(set) var steps: [Step] = []
  private(set) var sets: [ScalarRanges] = []
  private(set) var first = 0
  private var setIndices: [ScalarRanges: Int] = [:]
  private var calls = 0
  private static let stepLimit = 20_000

  /// The position of the pattern's automaton, as the set of its steps that wait for a scalar.
  struct Position: Hashable {
    var steps: [Int32]
    /// True where the text may end here.
    var matches: Bool
  }

  init(_ node: PatternNode) throws(PatternParser.Fault) {
    // Built from the back: each part is told what follows it.
    let match = add(.match)
    let trail = try loop(.set(.all), minimum: 0, maximum: nil, next: match)
    let body = try build(node, next: trail)
    first = try loop(.set(.all), minimum: 0, maximum: nil, next: body)
  }

  private mutating func add(_ step: Step) -> Int {
    steps.append(step)
    return steps.count - 1
  }

  private mutating func build(_ node: PatternNode, next: Int) throws(PatternParser.Fault) -> Int {
    // Repeated nothings add no steps, but take their time.
    calls += 1
    guard calls < Self.stepLimit else { throw PatternParser.Fault(reason: "it needs more than \(Self.stepLimit) steps") }
    switch node {
    case .set(let ranges):
      let index = setIndices[ranges] ?? sets.count
      if index == sets.count {
        sets.append(ranges)
        setIndices[ranges] = index
      }
      return add(.set(index, next: next))
    case .sequence(let parts):
      var next = next
      for part in parts.reversed() { next = try build(part, next: next) }
      return next
    case .choice(let parts):
      var result = try build(parts[parts.count - 1], next: next)
      for part in parts.dropLast().reversed() { result = add(.fork(try build(part, next: next), result)) }
      return result
    case .loop(let body, let minimum, let maximum): return try loop(body, minimum: minimum, maximum: maximum, next: next)
    case .start: return add(.start(next: next))
    case .end: return add(.end(next: next))
    }
  }

  private mutating func loop(_ body: PatternNode, minimum: Int, maximum: Int?, next: Int) throws(PatternParser.Fault) -> Int {
    var result = next
    if let maximum {
      for _ in 0..<(maximum - minimum) {
        let inner = try build(body, next: result)
        result = add(.fork(inner, next))
      }
    } else {
      let fork = add(.fork(next, next))
      steps[fork] = .fork(try build(body, next: fork), next)
      result = fork
    }
    for _ in 0..<minimum { result = try build(body, next: result) }
    return result
  }

  /// Returns the position of the automaton before the first scalar.
  func begin() -> Position { close([first], atStart: true) }

  /// Follows the steps as far as they lead without a scalar. Behind `$` nothing waits any more.
  func close(_ starts: [Int], atStart: Bool) -> Position {
    var seen = Set<Int>()
    var waiting: [Int32] = []
    var matches = false
    var work = starts.map { (step: $0, isEnded: false) }
    while let (step, isEnded) = work.popLast() {
      guard seen.insert(step << 1 | (isEnded ? 1 : 0)).inserted else { continue }
      switch steps[step] {
      case .set: if !isEnded { waiting.append(Int32(step)) }
      case .fork(let one, let other): work += [(one, isEnded), (other, isEnded)]
      case .start(let next): if atStart { work.append((next, isEnded)) }
      case .end(let next): work.append((next, true))
      case .match: matches = true
      }
    }
    return Position(steps: waiting.sorted(), matches: matches)
  }
}
