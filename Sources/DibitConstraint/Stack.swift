/// The list of parts that must still follow a leaf. Equal ones are one cell, so that stacks are compared by their numbers.
struct Stack: Sendable {
  enum Part: Hashable, Sendable {
    case value(rule: Int32)
    /// The rest of an object from a property on, behind so many members. `keys` are the undeclared ones among them, or -1.
    case members(shape: Int32, index: Int32, count: Int32, keys: Int32)
    /// The rest of an array behind so many elements; one bit in `used` for each value of which there may be one.
    case items(shape: Int32, index: Int32, used: UInt64)
    /// An element that is none of those used, and the rest of its array.
    case unused(shape: Int32, index: Int32, used: UInt64)
  }

  struct Cell: Hashable, Sendable {
    var part: Part
    /// The cell below, or -1.
    var rest: Int32
    /// The containers that are open here.
    var depth: Int32
  }

  /// A key in the making: the bytes so far, last first.
  struct KeyCell: Hashable, Sendable {
    var byte: UInt8
    var rest: Int32
  }

  /// Undeclared keys that an object has, last first.
  struct UsedKeys: Hashable, Sendable {
    /// Nil: a key that is not known, because many tokens are looked at together.
    var key: [UInt8]?
    var rest: Int32
  }

  private(set) var cells: [Cell] = []
  /// For each cell, the costs of it and all below.
  private(set) var costs: [Int32] = []
  private var indices: [Cell: Int32] = [:]
  private(set) var keys: [KeyCell] = []
  private var keyIndices: [KeyCell: Int32] = [:]
  private(set) var used: [UsedKeys] = []
  private var usedIndices: [UsedKeys: Int32] = [:]

  /// The costs of everything from a cell on.
  func cost(_ cell: Int32) -> Int32 { cell < 0 ? 0 : costs[Int(cell)] }

  mutating func intern(_ cell: Cell, cost: @autoclosure () -> Int32) -> Int32 {
    if let index = indices[cell] { return index }
    let index = Int32(cells.count)
    indices[cell] = index
    costs.append(Costs.sum(cost(), self.cost(cell.rest)))
    cells.append(cell)
    return index
  }

  /// The key with one more byte; -1 is the empty key.
  mutating func extend(_ key: Int32, _ byte: UInt8) -> Int32 {
    let cell = KeyCell(byte: byte, rest: key)
    if let index = keyIndices[cell] { return index }
    let index = Int32(keys.count)
    keyIndices[cell] = index
    keys.append(cell)
    return index
  }

  /// The bytes of a key.
  func bytes(ofKey key: Int32) -> [UInt8] {
    var (result, next): ([UInt8], Int32) = ([], key)
    while next >= 0 {
      result.append(keys[Int(next)].byte)
      next = keys[Int(next)].rest
    }
    return result.reversed()
  }

  mutating func use(_ key: [UInt8]?, after rest: Int32) -> Int32 {
    let cell = UsedKeys(key: key, rest: rest)
    if let index = usedIndices[cell] { return index }
    let index = Int32(used.count)
    usedIndices[cell] = index
    used.append(cell)
    return index
  }
}
