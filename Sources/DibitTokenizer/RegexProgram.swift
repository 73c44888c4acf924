/// A compiled regular expression: a backtracking matcher that remembers dead ends, so no pattern takes exponential time.
///
/// A match attempt first runs plainly; when it takes more than ``plainLimit`` steps it starts again and keeps every state it has been
/// in, which bounds it by instructions × bytes.
struct RegexProgram: Sendable, Equatable {
  enum Instruction: Sendable, Equatable {
    case one(Int)
    /// A run of one set, as long as it can be, given back scalar by scalar.
    case run(Int, minimum: Int, maximum: Int)
    /// The same, and nothing is given back.
    case hold(Int, minimum: Int, maximum: Int)
    case fork(first: Int, second: Int)
    case jump(Int)
    /// Runs the part that ends at its own `accept`; goes on where it ended when it is an `atomic` part, else stays.
    case atomic(Int)
    case look(Int, isNegative: Bool)
    case anchor(RegexNode.Anchor)
    case accept
  }

  private(set) var code: [Instruction] = []
  private(set) var sets: [ScalarSet] = []
  private static let sizeLimit = 2000
  private static let plainLimit = 4096

  /// Compiles a pattern that cannot match nothing.
  init(parsing text: String) throws(RegexParser.Fault) {
    let node = try RegexParser.parse(text)
    guard !node.matchesEmpty else { throw RegexParser.Fault(reason: "it can match nothing") }
    try compile(node)
    code.append(.accept)
  }

  /// The end of the match that starts at `start`, or nil.
  func matchEnd(in text: ScalarScanner, at start: Int) -> Int? {
    var matcher = Matcher(program: self, text: text, limit: Self.plainLimit)
    let end = matcher.run(0, start)
    guard matcher.isExhausted else { return end }
    matcher = Matcher(program: self, text: text, limit: nil)
    return matcher.run(0, start)
  }

  private mutating func index(of set: ScalarSet) -> Int {
    if let known = sets.firstIndex(of: set) { return known }
    sets.append(set)
    return sets.count - 1
  }

  private mutating func add(_ instruction: Instruction) throws(RegexParser.Fault) {
    guard code.count < Self.sizeLimit else { throw RegexParser.Fault(reason: "it needs more than \(Self.sizeLimit) steps") }
    code.append(instruction)
  }

  private mutating func compile(_ node: RegexNode) throws(RegexParser.Fault) {
    switch node {
    case .set(let set): try add(.one(index(of: set)))
    case .sequence(let parts): for part in parts { try compile(part) }
    case .anchor(let anchor): try add(.anchor(anchor))
    case .look(let body, let isNegative): try part(body) { .look($0, isNegative: isNegative) }
    case .choice(let parts):
      var exits: [Int] = []
      for (number, part) in parts.enumerated() {
        let fork = code.count
        let isLast = number == parts.count - 1
        if !isLast { try add(.fork(first: fork + 1, second: 0)) }
        try compile(part)
        if isLast { break }
        exits.append(code.count)
        try add(.jump(0))
        code[fork] = .fork(first: fork + 1, second: code.count)
      }
      for exit in exits { code[exit] = .jump(code.count) }
    case .loop(.set(let set), let minimum, let maximum, let greed) where greed != .lazy:
      let number = index(of: set)
      let limit = maximum ?? .max
      try add(
        greed == .greedy ? .run(number, minimum: minimum, maximum: limit) : .hold(number, minimum: minimum, maximum: limit))
    case .loop(let body, let minimum, let maximum, .possessive):
      try part(.loop(body, minimum: minimum, maximum: maximum, .greedy)) { .atomic($0) }
    case .loop(let body, let minimum, let maximum, let greed):
      for _ in 0..<minimum { try compile(body) }
      if let maximum {
        var forks: [Int] = []
        for _ in 0..<maximum - minimum {
          forks.append(code.count)
          try add(.jump(0))
          try compile(body)
        }
        for fork in forks { code[fork] = Self.fork(fork + 1, code.count, greed) }
      } else {
        let fork = code.count
        try add(.jump(0))
        try compile(body)
        try add(.jump(fork))
        code[fork] = Self.fork(fork + 1, code.count, greed)
      }
    }
  }

  private static func fork(_ body: Int, _ exit: Int, _ greed: RegexNode.Greed) -> Instruction {
    greed == .lazy ? .fork(first: exit, second: body) : .fork(first: body, second: exit)
  }

  /// A part that is run on its own: `instruction, jump over, part, accept`; the instruction gets the index of the part.
  private mutating func part(_ body: RegexNode, _ instruction: (Int) -> Instruction) throws(RegexParser.Fault) {
    let start = code.count
    try add(instruction(start + 2))
    try add(.jump(0))
    try compile(body)
    try add(.accept)
    code[start + 1] = .jump(code.count)
  }

  /// One attempt.
  private struct Matcher {
    let program: RegexProgram
    let text: ScalarScanner
    /// The steps that are left, or nil when states are remembered instead.
    var limit: Int?
    var isExhausted = false

    /// A state to go back to: `position` may shrink down to `lowest`, scalar by scalar.
    private struct Choice {
      let instruction: Int
      var position: Int
      let lowest: Int
    }

    private struct State: Hashable {
      let instruction: Int
      let position: Int
    }

    init(program: RegexProgram, text: ScalarScanner, limit: Int?) {
      self.program = program
      self.text = text
      self.limit = limit
    }

    /// Runs from an instruction to its `accept`. Parts run by recursion, which the pattern's nesting bounds.
    mutating func run(_ first: Int, _ start: Int) -> Int? {
      var stack: [Choice] = []
      var seen = Set<State>()
      var (instruction, position) = (first, start)
      while true {
        var isDead = false
        if let left = limit {
          if left == 0 {
            isExhausted = true
            return nil
          }
          limit = left - 1
        } else {
          isDead = !seen.insert(State(instruction: instruction, position: position)).inserted
        }
        if !isDead {
          switch program.code[instruction] {
          case .accept: return position
          case .jump(let target): instruction = target
          case .fork(let one, let other):
            stack.append(Choice(instruction: other, position: position, lowest: position))
            instruction = one
          case .one(let set):
            if position < text.end, let next = step(set, position) {
              (instruction, position) = (instruction + 1, next)
            } else {
              isDead = true
            }
          case .run(let set, let minimum, let maximum), .hold(let set, let minimum, let maximum):
            var count = 0
            var lowest = position
            while count < maximum, position < text.end, let next = step(set, position) {
              position = next
              count += 1
              if count == minimum { lowest = position }
            }
            if count < minimum { isDead = true }
            if case .run = program.code[instruction], !isDead, position > lowest {
              stack.append(Choice(instruction: instruction + 1, position: position, lowest: lowest))
            }
            instruction += 1
          case .atomic(let target):
            if let end = run(target, position) {
              (instruction, position) = (instruction + 1, end)
            } else {
              isDead = true
            }
          case .look(let target, let isNegative):
            if (run(target, position) == nil) == isNegative { instruction += 1 } else { isDead = true }
          case .anchor(let anchor):
            if holds(anchor, position) { instruction += 1 } else { isDead = true }
          }
        }
        if isExhausted { return nil }
        guard isDead else { continue }
        guard let choice = stack.popLast() else { return nil }
        (instruction, position) = (choice.instruction, choice.position)
        if position > choice.lowest {
          position = scalarStart(before: position)
          if position > choice.lowest {
            stack.append(Choice(instruction: instruction, position: position, lowest: choice.lowest))
          }
        }
      }
    }

    private func step(_ set: Int, _ position: Int) -> Int? {
      let byte = text.bytes[position]
      if byte < 0x80 { return program.sets[set].contains(ascii: byte) ? position + 1 : nil }
      let (scalar, next) = ScalarScanner.scalar(in: text.bytes, at: position)
      return program.sets[set].contains(scalar) ? next : nil
    }

    private func scalarStart(before position: Int) -> Int {
      var position = position - 1
      while position > text.start, text.bytes[position] & 0xC0 == 0x80 { position -= 1 }
      return position
    }

    private func holds(_ anchor: RegexNode.Anchor, _ position: Int) -> Bool {
      switch anchor {
      case .textStart: position == text.start
      case .textEnd: position == text.end
      case .lineStart: position == text.start || (text.bytes[position - 1] == 0x0A && position < text.end)
      case .lineEnd: position == text.end || text.bytes[position] == 0x0A
      }
    }
  }
}
