/// Moves configurations byte by byte. The stack grows as new cells are met.
struct Walker: Sendable {
  let program: TokenConstraint
  var stack = Stack()
  /// Set when a step depended on a key that is not known.
  var metUnknownKey = false
  /// Cells that ``expand(_:into:)`` has not looked at; kept for its memory, empty between its calls.
  private var work: [Int32] = []

  private var grammar: Grammar { program.grammar }

  init(_ program: TokenConstraint) { self.program = program }

  mutating func begin(_ front: inout Front) {
    front.removeAll()
    let root = intern(.value(rule: 0), rest: -1, depth: 0)
    expand(root, into: &front)
  }

  /// The ways behind one more byte.
  mutating func step(_ from: Front, _ byte: UInt8, into front: inout Front) {
    front.removeAll()
    for way in from.ways { step(way, byte, into: &front) }
  }

  mutating func step(_ way: Configuration, _ byte: UInt8, into front: inout Front) {
    let next = program.grammar.automaton.next(way.state, byte)
    guard next >= 0 else { return }
    var way = way
    if way.state == program.grammar.leaves.textBody {
      if byte == UInt8(ascii: "\"") {
        guard way.atLeast == 0 else { return }
        way.atMost = .max
      } else {
        guard way.atMost > 0 else { return }
        if way.atLeast > 0 { way.atLeast -= 1 }
        if way.atMost < .max { way.atMost -= 1 }
      }
    } else if way.key > -2 {
      if way.state == program.grammar.leaves.keyBody, byte == UInt8(ascii: "\"") {
        guard !isRefused(way.key, in: way.cell) else { return }
      } else if program.grammar.leaves.keyStates.contains(way.state) {
        way.key = stack.extend(way.key, byte)
      }
    }
    way.state = next
    add(way, to: &front)
  }

  /// Adds a way, and what may follow where its leaf may end.
  private mutating func add(_ way: Configuration, to front: inout Front) {
    if program.grammar.automaton.isAccepting[Int(way.state)] { leave(way, into: &front) }
    if !program.grammar.automaton.arcs(of: way.state).isEmpty { front.insert(way) }
  }

  /// Adds what may follow the leaf of a way. A key that is looked at for many tokens is not known yet.
  mutating func leave(_ way: Configuration, isKeyUnknown: Bool = false, into front: inout Front) {
    guard way.key > -2 else { return expand(way.cell, into: &front) }
    let bytes = isKeyUnknown ? nil : stack.bytes(ofKey: way.key)
    let cell = stack.cells[Int(way.cell)]
    guard case .members(let number, let index, let count, let keys) = cell.part else { return }
    let shape = program.grammar.objects[Int(number)]
    let rest = intern(
      .members(shape: number, index: index, count: shape.counted(count + 1), keys: stack.use(bytes, after: keys)), rest: cell.rest,
      depth: cell.depth)
    expand(intern(.value(rule: shape.additional), rest: rest, depth: cell.depth), into: &front)
  }

  private func depthLeft(_ depth: Int32) -> Int { program.grammar.maximumDepth - Int(depth) }

  private mutating func intern(_ part: Stack.Part, rest: Int32, depth: Int32) -> Int32 {
    let (costs, depthLeft) = (program.costs, depthLeft(depth))
    return stack.intern(
      Stack.Cell(part: part, rest: rest, depth: depth),
      cost: {
        switch part {
        case .value(let rule): costs.value(rule, depthLeft: depthLeft)
        case .members(let shape, let index, let count, _): costs.member(Int(shape), index: Int(index), count: count, depthLeft: depthLeft)
        case .items(let shape, let index, _): costs.items(Int(shape), index: index, depthLeft: depthLeft)
        case .unused(let shape, let index, _):
          Costs.sum(costs.unused(Int(shape)), costs.items(Int(shape), index: index + 1, depthLeft: depthLeft))
        }
      }())
  }

  /// Adds the leaves that a cell may start with.
  private mutating func expand(_ cell: Int32, into front: inout Front) {
    var work: [Int32] = []
    swap(&work, &self.work)
    defer { swap(&work, &self.work) }
    work.append(cell)
    while let next = work.popLast() {
      guard next >= 0 else {
        front.isComplete = true
        continue
      }
      let cell = stack.cells[Int(next)]
      switch cell.part {
      case .value(let rule):
        for node in program.grammar.rules[Int(rule)] { start(node, cell, &work, &front) }
      case .members(let shape, let index, let count, let keys):
        startMember(Int(shape), Int(index), count, keys, cell, &front)
      case .unused(let number, let index, let used):
        for (bit, leaf) in program.grammar.arrays[Int(number)].once.enumerated() where used >> UInt64(bit) & 1 == 0 {
          let after = Stack.Part.items(shape: number, index: index + 1, used: used | 1 << UInt64(bit))
          front.insert(Configuration(state: leaf, cell: self.intern(after, rest: cell.rest, depth: cell.depth)))
        }
      case .items(let number, let index, let used):
        let shape = program.grammar.arrays[Int(number)]
        if index >= shape.minimum { front.insert(Configuration(state: program.grammar.leaves.closeBracket, cell: cell.rest)) }
        if !shape.once.isEmpty {
          guard index < shape.maximum else { continue }
          let value = intern(.unused(shape: number, index: index, used: used), rest: cell.rest, depth: cell.depth)
          if index == 0 { work.append(value) } else { front.insert(Configuration(state: program.grammar.leaves.comma, cell: value)) }
          continue
        }
        guard let rule = shape.rule(at: index), program.costs.value(rule, depthLeft: depthLeft(cell.depth)) < Costs.impossible else {
          continue
        }
        let after = shape.counted(index + 1)
        guard program.costs.items(Int(number), index: after, depthLeft: depthLeft(cell.depth)) < Costs.impossible else { continue }
        let rest = intern(.items(shape: number, index: after, used: 0), rest: cell.rest, depth: cell.depth)
        let value = intern(.value(rule: rule), rest: rest, depth: cell.depth)
        if index == 0 { work.append(value) } else { front.insert(Configuration(state: program.grammar.leaves.comma, cell: value)) }
      }
    }
  }

  private mutating func start(_ node: ValueNode, _ cell: Stack.Cell, _ work: inout [Int32], _ front: inout Front) {
    guard program.costs.node(node, depthLeft: depthLeft(cell.depth)) < Costs.impossible else { return }
    let leaves = program.grammar.leaves
    switch node {
    case .leaf(let state):
      let way = Configuration(state: state, cell: cell.rest)
      if program.grammar.automaton.isAccepting[Int(state)] { work.append(cell.rest) }
      if !program.grammar.automaton.arcs(of: state).isEmpty { front.insert(way) }
    case .text(let atLeast, let atMost):
      front.insert(Configuration(state: leaves.text, cell: cell.rest, atLeast: atLeast, atMost: atMost))
    case .object(let shape):
      let members = intern(.members(shape: shape, index: 0, count: 0, keys: -1), rest: cell.rest, depth: cell.depth + 1)
      front.insert(Configuration(state: leaves.openBrace, cell: members))
    case .array(let shape):
      let items = intern(.items(shape: shape, index: 0, used: 0), rest: cell.rest, depth: cell.depth + 1)
      front.insert(Configuration(state: leaves.openBracket, cell: items))
    }
  }

  private mutating func startMember(
    _ number: Int, _ index: Int, _ count: Int32, _ keys: Int32, _ cell: Stack.Cell, _ front: inout Front
  ) {
    let shape = program.grammar.objects[number]
    let leaves = program.grammar.leaves
    let depthLeft = depthLeft(cell.depth)
    func isOpen(_ rule: Int32, _ next: Int) -> Bool {
      program.costs.value(rule, depthLeft: depthLeft) < Costs.impossible
        && program.costs.member(number, index: next, count: shape.counted(count + 1), depthLeft: depthLeft) < Costs.impossible
    }
    let isLast = shape.requiredFrom[index] == 0
    if isLast, count >= shape.minimum { front.insert(Configuration(state: leaves.closeBrace, cell: cell.rest)) }
    for next in index..<shape.properties.count {
      let property = shape.properties[next]
      if shape.maximum == .max || count + 1 + shape.requiredFrom[next + 1] <= shape.maximum, isOpen(property.rule, next + 1) {
        let rest = intern(
          .members(shape: Int32(number), index: Int32(next + 1), count: shape.counted(count + 1), keys: keys), rest: cell.rest,
          depth: cell.depth)
        let value = intern(.value(rule: property.rule), rest: rest, depth: cell.depth)
        front.insert(Configuration(state: count == 0 ? property.key : property.nextKey, cell: value))
      }
      if property.isRequired { break }
    }
    guard shape.additional >= 0, isLast, shape.maximum == .max || count < shape.maximum, isOpen(shape.additional, shape.properties.count)
    else { return }
    // Behind the first undeclared member there are no declared ones.
    let members = intern(
      .members(shape: Int32(number), index: Int32(shape.properties.count), count: count, keys: keys), rest: cell.rest, depth: cell.depth)
    front.insert(Configuration(state: count == 0 ? leaves.key : leaves.nextKey, cell: members, key: -1))
  }

  // MARK: Keys

  /// Returns whether an object has the key already, or declares it.
  mutating func isRefused(_ key: Int32, in cell: Int32) -> Bool {
    let bytes = stack.bytes(ofKey: key)
    var isUnknown = false
    let isRefused = refusedKeys(in: cell, isUnknown: &isUnknown).contains(bytes)
    // Any key may be the one that is not known.
    if isUnknown { metUnknownKey = true }
    return isRefused
  }

  /// The spellings that no further key of an object may have.
  func refusedKeys(in cell: Int32, isUnknown: inout Bool) -> [[UInt8]] {
    guard case .members(let number, _, _, let keys) = stack.cells[Int(cell)].part else { return [] }
    var result = program.grammar.objects[Int(number)].names
    var next = keys
    while next >= 0 {
      if let key = stack.used[Int(next)].key { result.append(key) } else { isUnknown = true }
      next = stack.used[Int(next)].rest
    }
    return result
  }

  // MARK: Costs

  /// The costs of the shortest way on from here.
  func cost(_ front: Front) -> Int32 {
    front.isComplete ? 0 : front.ways.reduce(Costs.impossible) { min($0, cost($1)) }
  }

  func cost(_ way: Configuration) -> Int32 {
    let leaf = program.costs.leaves[Int(way.state)]
    if way.key == -2 { return Costs.sum(leaf, way.atLeast, stack.cost(way.cell)) }
    return Costs.sum(leaf, keyExtra(way), costBehindKey(way.cell))
  }

  /// The costs of the value of an undeclared key and of what follows it.
  func costBehindKey(_ cellIndex: Int32) -> Int32 {
    let cell = stack.cells[Int(cellIndex)]
    guard case .members(let number, let index, let count, _) = cell.part else { return Costs.impossible }
    let shape = program.grammar.objects[Int(number)]
    let depthLeft = depthLeft(cell.depth)
    return Costs.sum(
      program.costs.value(shape.additional, depthLeft: depthLeft),
      program.costs.member(Int(number), index: Int(index), count: shape.counted(count + 1), depthLeft: depthLeft), stack.cost(cell.rest))
  }

  /// The scalars that a key may still need to differ from the others.
  private func keyExtra(_ way: Configuration) -> Int32 {
    let leaves = program.grammar.leaves
    if way.state == leaves.keyBody || way.state == leaves.key || way.state == leaves.nextKey {
      return Int32(filler(for: way).count)
    }
    // In the middle of a scalar it is not known which key comes out.
    return leaves.keyStates.contains(way.state) ? 2 : 0
  }

  /// The least text that makes the key of a way differ from the others: none, one scalar, or in rare cases two.
  func filler(for way: Configuration) -> [UInt8] {
    var isUnknown = false
    let refused = refusedKeys(in: way.cell, isUnknown: &isUnknown)
    let prefix = stack.bytes(ofKey: way.key)
    let rests = Set(refused.filter { $0.starts(with: prefix) }.map { Array($0.dropFirst(prefix.count)) })
    if !rests.contains([]) { return [] }
    let letters = (UInt8(ascii: "a")...UInt8(ascii: "z")).filter { program.vocabulary.hasByte[Int($0)] }
    for letter in letters where !rests.contains([letter]) { return [letter] }
    for first in letters { for second in letters where !rests.contains([first, second]) { return [first, second] } }
    return []
  }
}
