internal import DibitTensor

/// Reads a pickle as data: the instructions of protocols 2 to 5 build values, and nothing is ever imported or called.
///
/// Each instruction takes at least one byte and makes at most one object, so that time and memory are linear in the size of the pickle.
struct PickleMachine {
  /// The largest pickle that is read, in bytes: a state dict of a hundred thousand tensors takes less than 30 MB.
  static let sizeLimit = 64 << 20
  /// The most objects, and the most elements of tuples.
  static let objectLimit = 8 << 20

  private(set) var heap = PickleHeap()
  let bytes: Bytes
  /// The beginning of `bytes` in the file, for messages.
  private let base: Int
  /// The number of bytes read, and the beginning of the present instruction.
  private(set) var position = 0
  private var opcodeAt = 0
  private var opcode: UInt8 = 0
  private var stack: [Int32] = []
  private var marks: [Int] = []
  private var memo: [Int32] = []
  /// Elements of lists that were taken over into other containers: the only work that instructions do on objects made before.
  private var copied = 0

  private init(_ bytes: Bytes, base: Int) {
    self.bytes = bytes
    self.base = base
    heap.objects = [.none, .bool(false), .bool(true), .tuple(0..<0)]
  }

  /// The byte of the present instruction in the file.
  var offset: Int { base + opcodeAt }

  /// Reads one pickle from the start of `bytes`; returns what it built, its value and its size.
  static func run(_ bytes: Bytes, base: Int) throws(PickleFault) -> (heap: PickleHeap, root: Int32, size: Int) {
    var machine = PickleMachine(bytes, base: base)
    let root = try machine.run()
    return (heap: machine.heap, root: root, size: machine.position)
  }

  private mutating func run() throws(PickleFault) -> Int32 {
    let start = try take(2)
    guard bytes[start] == 0x80 else { throw .start(offset: base, found: bytes[start]) }
    guard (2...5).contains(bytes[start + 1]) else { throw .protocolVersion(offset: base, found: bytes[start + 1]) }
    while true {
      opcodeAt = position
      opcode = bytes[try take(1)]
      // "."
      if opcode == 0x2E { break }
      try step()
      guard position <= Self.sizeLimit else { throw .tooLarge(limit: Self.sizeLimit, found: position) }
      guard heap.objects.count <= Self.objectLimit, heap.items.count <= Self.objectLimit, copied <= Self.objectLimit else {
        throw .tooManyObjects(offset: offset, limit: Self.objectLimit)
      }
    }
    guard stack.count == 1, marks.isEmpty else { throw .leftOver(offset: offset, count: stack.count + marks.count) }
    return stack[0]
  }

  private mutating func step() throws(PickleFault) {
    switch opcode {
    case 0x28, 0x30, 0x31, 0x32, 0x71, 0x72, 0x68, 0x6A, 0x94, 0x95: try stackInstruction()
    case 0x4E: stack.append(0)
    case 0x88: stack.append(2)
    case 0x89: stack.append(1)
    case 0x29: stack.append(3)
    case 0x4B, 0x4D, 0x4A, 0x8A, 0x8B, 0x47: try number()
    case 0x58, 0x8C, 0x8D, 0x55, 0x54, 0x43, 0x42, 0x8E, 0x96: try text()
    case 0x74, 0x85, 0x86, 0x87, 0x5D, 0x7D, 0x8F, 0x91, 0x61, 0x65, 0x90, 0x73, 0x75: try container()
    case 0x63, 0x93, 0x69, 0x6F, 0x81, 0x52, 0x62, 0x51: try symbolic()
    default: throw .opcode(offset: offset, found: opcode)
    }
  }

  // MARK: Stack and memo

  private mutating func stackInstruction() throws(PickleFault) {
    switch opcode {
    // ( MARK
    case 0x28: marks.append(stack.count)
    // 0 POP
    case 0x30: _ = try pop()
    // 1 POP_MARK
    case 0x31: _ = try popMark()
    // 2 DUP
    case 0x32: stack.append(try top())
    // q BINPUT, r LONG_BINPUT, MEMOIZE
    case 0x71: try put(Int(bytes[try take(1)]))
    case 0x72: try put(Int(try unsigned(4)))
    case 0x94: try put(memo.count)
    // h BINGET, j LONG_BINGET
    case 0x68: try get(Int(bytes[try take(1)]))
    case 0x6A: try get(Int(try unsigned(4)))
    // FRAME says how much to read ahead; all of it is here already.
    default:
      let length = try unsigned(8)
      let left = bytes.count - position
      guard length <= UInt64(left) else {
        throw .truncated(offset: base + position, expectedBytes: Int(clamping: length), foundBytes: left)
      }
    }
  }

  private mutating func put(_ index: Int) throws(PickleFault) {
    // Pickles number what they memorise without gaps, and everything memorised took more than a byte.
    guard index < bytes.count, index < Self.objectLimit else {
      throw .memoIndex(offset: offset, found: index, limit: min(bytes.count, Self.objectLimit))
    }
    let value = try top()
    while memo.count <= index { memo.append(-1) }
    memo[index] = value
  }

  private mutating func get(_ index: Int) throws(PickleFault) {
    guard index < memo.count, memo[index] >= 0 else { throw .memoEmpty(offset: offset, index: index) }
    stack.append(memo[index])
  }

  private func top() throws(PickleFault) -> Int32 {
    guard stack.count > marks.last ?? 0 else { throw .stackUnderflow(offset: offset, opcode: opcode) }
    return stack[stack.count - 1]
  }

  private mutating func pop() throws(PickleFault) -> Int32 {
    let value = try top()
    stack.removeLast()
    return value
  }

  /// The values above the last mark, which goes with them.
  private mutating func popMark() throws(PickleFault) -> [Int32] {
    guard let mark = marks.popLast() else { throw .noMark(offset: offset, opcode: opcode) }
    let values = Array(stack[mark...])
    stack.removeSubrange(mark...)
    return values
  }

  private mutating func push(_ object: PickleObject) {
    stack.append(Int32(heap.objects.count))
    heap.objects.append(object)
  }

  // MARK: Values

  /// Skips `count` bytes and returns where they begin.
  private mutating func take(_ count: Int) throws(PickleFault) -> Int {
    guard bytes.count - position >= count else {
      throw .truncated(offset: base + position, expectedBytes: count, foundBytes: bytes.count - position)
    }
    defer { position += count }
    return position
  }

  private mutating func unsigned(_ size: Int) throws(PickleFault) -> UInt64 {
    let at = try take(size)
    return (0..<size).reversed().reduce(0) { $0 << 8 | UInt64(bytes[at + $1]) }
  }

  /// A length of `size` bytes that the rest of the pickle can hold.
  private mutating func length(_ size: Int) throws(PickleFault) -> Int {
    let length = try unsigned(size)
    guard length <= UInt64(bytes.count - position) else {
      throw .truncated(offset: base + position, expectedBytes: Int(clamping: length), foundBytes: bytes.count - position)
    }
    return Int(length)
  }

  private mutating func number() throws(PickleFault) {
    switch opcode {
    // K BININT1, M BININT2, J BININT
    case 0x4B: push(.integer(Int(try unsigned(1))))
    case 0x4D: push(.integer(Int(try unsigned(2))))
    case 0x4A: push(.integer(Int(Int32(truncatingIfNeeded: try unsigned(4)))))
    // G BINFLOAT
    case 0x47:
      _ = try take(8)
      push(.float)
    // LONG1, LONG4: two's complement, little-endian.
    default:
      let size = try length(opcode == 0x8A ? 1 : 4)
      let at = try take(size)
      guard size <= 8 else { return push(.longInteger(at..<at + size)) }
      let negative = size > 0 && bytes[at + size - 1] >= 0x80
      push(.integer((0..<size).reversed().reduce(negative ? -1 : 0) { $0 << 8 | Int(bytes[at + $1]) }))
    }
  }

  private mutating func text() throws(PickleFault) {
    // Lengths of 1 byte (U, C, 0x8C), 4 bytes (X, T, B) and 8 bytes (0x8D, 0x8E, 0x96).
    let size =
      switch opcode {
      case 0x55, 0x43, 0x8C: 1
      case 0x58, 0x54, 0x42: 4
      default: 8
      }
    let length = try length(size)
    let at = try take(length)
    switch opcode {
    case 0x43, 0x42, 0x8E, 0x96: push(.bytes)
    default:
      if let text = String(validating: bytes.slice(at..<at + length).array, as: UTF8.self) { return push(.string(text)) }
      // What Python 2 called a string can be bytes.
      guard opcode == 0x55 || opcode == 0x54 else { throw .text(offset: base + at) }
      push(.bytes)
    }
  }

  private mutating func container() throws(PickleFault) {
    switch opcode {
    // t TUPLE, TUPLE1 to TUPLE3
    case 0x74: pushTuple(try popMark())
    case 0x85, 0x86, 0x87:
      var elements: [Int32] = []
      for _ in 0...opcode - 0x85 { elements.append(try pop()) }
      pushTuple(elements.reversed())
    // ] EMPTY_LIST, EMPTY_SET, FROZENSET
    case 0x5D, 0x8F: pushList([])
    case 0x91: pushList(try popMark())
    // } EMPTY_DICT
    case 0x7D: pushDictionary()
    // a APPEND, e APPENDS, ADDITEMS
    case 0x61: try append([try pop()])
    case 0x65, 0x90: try append(try popMark())
    // s SETITEM, u SETITEMS
    case 0x73:
      let value = try pop()
      try insert([try pop(), value])
    default: try insert(try popMark())
    }
  }

  private mutating func pushTuple(_ elements: [Int32]) {
    let begin = heap.items.count
    heap.items.append(contentsOf: elements)
    push(.tuple(begin..<heap.items.count))
  }

  private mutating func pushList(_ elements: [Int32]) {
    push(.list(heap.lists.count))
    heap.lists.append(elements)
  }

  private mutating func pushDictionary() {
    push(.dictionary(heap.dictionaries.count))
    heap.dictionaries.append([])
  }

  private mutating func append(_ elements: [Int32]) throws(PickleFault) {
    let target = heap[try top()]
    guard case .list(let list) = target else {
      throw .operand(offset: offset, opcode: opcode, expected: "a list", found: target.kind)
    }
    heap.lists[list].append(contentsOf: elements)
  }

  private mutating func insert(_ elements: [Int32]) throws(PickleFault) {
    let target = heap[try top()]
    guard case .dictionary(let dictionary) = target else {
      throw .operand(offset: offset, opcode: opcode, expected: "a dictionary", found: target.kind)
    }
    guard elements.count % 2 == 0 else {
      throw .operand(offset: offset, opcode: opcode, expected: "keys and values", found: "\(elements.count) objects")
    }
    for index in stride(from: 0, to: elements.count, by: 2) {
      heap.dictionaries[dictionary].append((key: elements[index], value: elements[index + 1]))
    }
  }

  // MARK: Names, and what would be calls

  private mutating func symbolic() throws(PickleFault) {
    switch opcode {
    // c GLOBAL
    case 0x63: push(.global(try globalLines()))
    // STACK_GLOBAL
    case 0x93:
      let (name, module) = (heap[try pop()], heap[try pop()])
      guard case .string(let module) = module, case .string(let name) = name else {
        throw .operand(offset: offset, opcode: opcode, expected: "two names", found: "\(module.kind) and \(name.kind)")
      }
      push(.global(try global(module: module, name: name)))
    // i INST
    case 0x69:
      let global = try globalLines()
      try reduce(global, try popMark()[...])
    // o OBJ
    case 0x6F:
      let elements = try popMark()
      guard let first = elements.first else { throw .stackUnderflow(offset: offset, opcode: opcode) }
      try reduce(try callable(first), elements.dropFirst())
    // R REDUCE, NEWOBJ
    case 0x52, 0x81:
      let arguments = try pop()
      guard let elements = heap.tuple(arguments) else {
        throw .operand(offset: offset, opcode: opcode, expected: "a tuple", found: heap[arguments].kind)
      }
      let function = try pop()
      try reduce(try callable(function), elements)
    // b BUILD: attributes of a dictionary (_metadata), a tensor or a plain object; none of them is looked at.
    case 0x62:
      _ = try pop()
      let target = heap[try top()]
      switch target {
      case .dictionary, .tensor, .opaque: break
      default: throw .operand(offset: offset, opcode: opcode, expected: "a dictionary or a tensor", found: target.kind)
      }
    // Q BINPERSID
    default: push(.storage(try heap.addStorage(try pop(), offset: offset)))
    }
  }

  /// The text up to the next line feed.
  private mutating func line() throws(PickleFault) -> String {
    var end = position
    while end < bytes.count, bytes[end] != 0x0A { end += 1 }
    guard end < bytes.count else { throw .truncated(offset: base + end, expectedBytes: 1, foundBytes: 0) }
    guard let text = String(validating: bytes.slice(position..<end).array, as: UTF8.self) else { throw .text(offset: base + position) }
    position = end + 1
    return text
  }

  private mutating func globalLines() throws(PickleFault) -> PickleGlobal {
    let module = try line()
    return try global(module: module, name: try line())
  }

  private func global(module: String, name: String) throws(PickleFault) -> PickleGlobal {
    guard let global = PickleGlobal(module: module, name: name) else { throw .forbidden(offset: offset, name: module + "." + name) }
    return global
  }

  private func callable(_ reference: Int32) throws(PickleFault) -> PickleGlobal {
    guard case .global(let global) = heap[reference] else {
      throw .operand(offset: offset, opcode: opcode, expected: "the name of a function or class", found: heap[reference].kind)
    }
    return global
  }

  /// Pushes the value that the call `global(arguments)` stands for.
  private mutating func reduce(_ global: PickleGlobal, _ arguments: ArraySlice<Int32>) throws(PickleFault) {
    guard arguments.count <= 8 else {
      throw .operand(offset: offset, opcode: opcode, expected: "at most 8 arguments", found: "\(arguments.count)")
    }
    let arguments = Array(arguments)
    switch global {
    case .orderedDictionary, .counter, .set: try reduceContainer(global, arguments)
    case .size:
      guard arguments.count == 1, heap.tuple(arguments[0]) != nil else {
        throw .arguments(offset: offset, name: "torch.Size", reason: "one tuple expected")
      }
      stack.append(arguments[0])
    case .encode: push(.bytes)
    case .device, .numpyScalar, .numpyDType: push(.opaque)
    case .rebuildTensor, .rebuildParameter, .rebuildFromType: push(try heap.rebuild(global, arguments, offset: offset))
    case .tensorType, .dtype, .otherDType, .storage, .otherStorage:
      throw .operand(offset: offset, opcode: opcode, expected: "a function that rebuilds data", found: "a type")
    }
  }

  /// A dictionary from nothing, another dictionary or a list of pairs; a set from nothing or a list.
  private mutating func reduceContainer(_ global: PickleGlobal, _ arguments: [Int32]) throws(PickleFault) {
    let name = global == .set ? "set" : "collections.OrderedDict"
    guard arguments.count <= 1 else {
      throw .arguments(offset: offset, name: name, reason: "at most one argument expected, \(arguments.count) found")
    }
    switch (global, arguments.first.map { heap[$0] }) {
    case (.set, nil): pushList([])
    case (_, nil): pushDictionary()
    case (.set, .list(let list)):
      copied += heap.lists[list].count
      pushList(heap.lists[list])
    case (.set, let other?): throw .arguments(offset: offset, name: name, reason: "a list expected, \(other.kind) found")
    case (_, .dictionary(let other)):
      copied += heap.dictionaries[other].count
      pushDictionary()
      heap.dictionaries[heap.dictionaries.count - 1] = heap.dictionaries[other]
    case (_, .list(let list)):
      copied += heap.lists[list].count
      pushDictionary()
      for pair in heap.lists[list] {
        guard let elements = heap.tuple(pair) ?? heap.list(pair)?[...], elements.count == 2 else {
          throw .arguments(offset: offset, name: name, reason: "a list of pairs expected, \(heap[pair].kind) found in it")
        }
        heap.dictionaries[heap.dictionaries.count - 1].append(
          (key: elements[elements.startIndex], value: elements[elements.startIndex + 1]))
      }
    case (_, let other?): throw .arguments(offset: offset, name: name, reason: "a list of pairs expected, \(other.kind) found")
    }
  }
}
