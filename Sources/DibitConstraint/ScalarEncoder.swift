/// Turns arcs over scalars into arcs over the bytes that spell them in a JSON string: UTF-8, and an escape where JSON needs one.
struct ScalarEncoder {
  /// Scalars from `first` to `last` lead to `target`; no surrogates among them.
  struct Arc: Hashable {
    var first: UInt32
    var last: UInt32
    var target: Int32
  }

  var draft = AutomatonDraft()
  /// States in the middle of a scalar, by what they lead to: equal ones are one state.
  private var shared: [[ByteAutomaton.Arc]: Int32] = [:]
  private struct Whole: Hashable {
    var length: Int
    var target: Int32
  }
  /// The states that read any continuation bytes.
  private var wholes: [Whole: Int32] = [:]

  /// Adds the arcs, which are sorted and do not overlap, to a state.
  mutating func addArcs(from state: Int32, _ arcs: [Arc]) {
    for arc in Self.cut(arcs, 0x20, 0x7F) {
      for range in [0x20...0x21, 0x23...0x5B, 0x5D...0x7F] as [ClosedRange<UInt32>] where range.overlaps(arc.first...arc.last) {
        let part = range.clamped(to: arc.first...arc.last)
        draft.addArc(state, UInt8(part.lowerBound)...UInt8(part.upperBound), arc.target)
      }
    }
    addEscapes(from: state, arcs)
    for byte in 0xC2...0xF4 as ClosedRange<UInt32> {
      let (length, base) = byte < 0xE0 ? (1, (byte & 0x1F) << 6) : byte < 0xF0 ? (2, (byte & 0xF) << 12) : (3, (byte & 7) << 18)
      let least: UInt32 = length == 1 ? 0x80 : length == 2 ? 0x800 : 0x10000
      let inside = Self.cut(arcs, max(base, least), base + (1 << (6 * UInt32(length))) - 1)
      if let target = rest(inside, base: base, length: length) { draft.addArc(state, UInt8(byte)...UInt8(byte), target) }
    }
  }

  /// The arcs inside a range, cut at its ends.
  private static func cut(_ arcs: [Arc], _ first: UInt32, _ last: UInt32) -> [Arc] {
    arcs.compactMap { arc in
      guard arc.first <= last, arc.last >= first else { return nil }
      return Arc(first: max(arc.first, first), last: min(arc.last, last), target: arc.target)
    }
  }

  /// The state that reads `length` continuation bytes of the scalars from `base` on; at most three deep.
  private mutating func rest(_ arcs: [Arc], base: UInt32, length: Int) -> Int32? {
    if arcs.isEmpty { return nil }
    if length == 0 { return arcs[0].target }
    let width: UInt32 = 1 << (6 * UInt32(length - 1))
    if arcs.count == 1, arcs[0].first == base, arcs[0].last == base + 64 * width - 1 { return whole(length, arcs[0].target) }
    var bytes: [ByteAutomaton.Arc] = []
    for block in 0..<64 as Range<UInt32> {
      let start = base + block * width
      guard let target = rest(Self.cut(arcs, start, start + width - 1), base: start, length: length - 1) else { continue }
      let byte = UInt8(0x80 + block)
      if let previous = bytes.last, previous.target == target, previous.last + 1 == byte {
        bytes[bytes.count - 1].last = byte
      } else {
        bytes.append(ByteAutomaton.Arc(first: byte, last: byte, target: target))
      }
    }
    if let state = shared[bytes] { return state }
    let state = draft.addState()
    draft.arcs[Int(state)] = bytes
    shared[bytes] = state
    return state
  }

  private mutating func whole(_ length: Int, _ target: Int32) -> Int32 {
    if length == 0 { return target }
    let key = Whole(length: length, target: target)
    if let state = wholes[key] { return state }
    let bytes = [ByteAutomaton.Arc(first: 0x80, last: 0xBF, target: whole(length - 1, target))]
    let state = shared[bytes] ?? draft.addState()
    draft.arcs[Int(state)] = bytes
    shared[bytes] = state
    wholes[key] = state
    return state
  }

  /// The scalars that JSON wants escaped, each in the spelling of this package's writer.
  private mutating func addEscapes(from state: Int32, _ arcs: [Arc]) {
    var escaped: [(text: String, target: Int32)] = []
    for value in Array(0..<0x20 as Range<UInt32>) + [0x22, 0x5C] {
      guard let target = arcs.first(where: { ($0.first...$0.last).contains(value) })?.target else { continue }
      switch value {
      case 0x0A: escaped.append(("n", target))
      case 0x0D: escaped.append(("r", target))
      case 0x09: escaped.append(("t", target))
      case 0x22: escaped.append(("\"", target))
      case 0x5C: escaped.append(("\\", target))
      default: escaped.append(((value < 0x10 ? "u000" : "u00") + String(value, radix: 16), target))
      }
    }
    if let first = escape(escaped.map { (Array($0.text.utf8)[...], $0.target) }) { draft.addArc(state, "\\", first) }
  }

  /// The state that reads these texts; their length, five at most, bounds the depth.
  private mutating func escape(_ texts: [(text: ArraySlice<UInt8>, target: Int32)]) -> Int32? {
    guard let first = texts.first else { return nil }
    if first.text.isEmpty { return first.target }
    var bytes: [ByteAutomaton.Arc] = []
    for byte in Set(texts.compactMap(\.text.first)).sorted() {
      let inner = texts.filter { $0.text.first == byte }.map { (text: $0.text.dropFirst(), target: $0.target) }
      if let target = escape(inner) { bytes.append(ByteAutomaton.Arc(first: byte, last: byte, target: target)) }
    }
    if let state = shared[bytes] { return state }
    let state = draft.addState()
    draft.arcs[Int(state)] = bytes
    shared[bytes] = state
    return state
  }
}
