internal import DibitJSON

/// Reads a JSON text piece by piece and can tell its content at any byte. It keeps a stack of its own, so depth costs no recursion.
struct ContentReader {
  /// An array or structure that is not closed.
  struct Frame {
    let isStructure: Bool
    /// The name of this container; its parts' names follow from it.
    let id: GenerationID
    var elements: [GeneratedContent] = []
    var properties: [String: GeneratedContent] = [:]
    var keys: [String] = []
    /// The key whose value comes next.
    var key = ""
  }

  /// The thing that may come next.
  enum State: Equatable {
    case value, elementOrEnd, keyOrEnd, key, colon, separator, end
    case string(isKey: Bool)
    case escape(isKey: Bool)
    /// The digits of `\u`, and the first half of a pair that came before.
    case unit(isKey: Bool, digits: Int, value: UInt16, high: UInt16?)
    /// A pair's second half: its backslash, then its `u`.
    case lowEscape(isKey: Bool, high: UInt16, hasBackslash: Bool)
    case number(NumberPart)
    case literal(Literal, matched: Int)
  }

  enum NumberPart { case minus, zero, digits, point, fraction, exponent, exponentSign, exponentDigits }

  enum Literal { case null, yes, no }

  static let depthLimit = 128

  private let id: GenerationID
  var stack: [Frame] = []
  var state = State.value
  /// The open string, number or word so far.
  var text: [UInt8] = []
  private var root: GeneratedContent?
  var offset = 0
  var tokenOffset = 0

  /// A reader of one document; `id` names its root.
  init(id: GenerationID) { self.id = id }

  /// Reads the bytes from an index on. After an error the reader is of no use.
  mutating func read(_ bytes: [UInt8], from start: Int) throws(JSONError) {
    offset = start
    while offset < bytes.count {
      switch state {
      case .string(let isKey): try readString(bytes, isKey: isKey)
      case .escape(let isKey): try readEscape(bytes[offset], isKey: isKey)
      case .unit, .lowEscape: try readUnit(bytes[offset])
      case .number(let part): try readNumber(bytes[offset], part)
      case .literal(let literal, let matched): try readLiteral(bytes[offset], literal, matched)
      default:
        let byte = bytes[offset]
        if byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
          offset += 1
        } else {
          try readStructure(byte)
        }
      }
    }
  }

  /// The content so far.
  func content() throws(JSONError) -> GeneratedContent {
    if let root { return root }
    var partial: GeneratedContent?
    switch state {
    case .string(false), .escape(false), .unit(false, _, _, _), .lowEscape(false, _, _):
      partial = GeneratedContent(
        kind: .string(String(decoding: text, as: UTF8.self)), id: stack.isEmpty ? id : nil, isComplete: false)
    case .number(let part) where stack.isEmpty && Self.isWhole(part):
      partial = try number()
      partial?.id = id
    default: break
    }
    for frame in stack.reversed() {
      var frame = frame
      if let partial { Self.add(partial, to: &frame) }
      partial = container(frame, isComplete: false, isRoot: frame.id == id)
    }
    return partial ?? GeneratedContent(kind: .null, id: id, isComplete: false)
  }

  // MARK: Structure

  private mutating func readStructure(_ byte: UInt8) throws(JSONError) {
    switch (state, byte) {
    case (.end, _): throw unexpected(byte, "the end of the document")
    case (.colon, UInt8(ascii: ":")): state = .value
    case (.colon, _): throw unexpected(byte, "':'")
    case (.separator, UInt8(ascii: ",")): state = stack.last?.isStructure == true ? .key : .value
    case (.separator, UInt8(ascii: "]")) where stack.last?.isStructure == false: close()
    case (.separator, UInt8(ascii: "}")) where stack.last?.isStructure == true: close()
    case (.separator, _): throw unexpected(byte, stack.last?.isStructure == true ? "',' or '}'" : "',' or ']'")
    case (.elementOrEnd, UInt8(ascii: "]")), (.keyOrEnd, UInt8(ascii: "}")): close()
    case (.key, UInt8(ascii: "\"")), (.keyOrEnd, UInt8(ascii: "\"")): begin(.string(isKey: true))
    case (.key, _), (.keyOrEnd, _): throw unexpected(byte, "a key in quotes")
    default: try readValue(byte)
    }
    offset += 1
  }

  private mutating func readValue(_ byte: UInt8) throws(JSONError) {
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      guard stack.count < Self.depthLimit else { throw .nestedTooDeeply(offset: offset, limit: Self.depthLimit) }
      let isStructure = byte == UInt8(ascii: "{")
      stack.append(Frame(isStructure: isStructure, id: nextID))
      state = isStructure ? .keyOrEnd : .elementOrEnd
    case UInt8(ascii: "\""): begin(.string(isKey: false))
    case UInt8(ascii: "n"): begin(.literal(.null, matched: 1))
    case UInt8(ascii: "t"): begin(.literal(.yes, matched: 1))
    case UInt8(ascii: "f"): begin(.literal(.no, matched: 1))
    case UInt8(ascii: "-"): begin(.number(.minus), with: byte)
    case UInt8(ascii: "0"): begin(.number(.zero), with: byte)
    case UInt8(ascii: "1")...UInt8(ascii: "9"): begin(.number(.digits), with: byte)
    default: throw unexpected(byte, "a value")
    }
  }

  private mutating func begin(_ state: State, with byte: UInt8? = nil) {
    self.state = state
    tokenOffset = offset
    text.removeAll(keepingCapacity: true)
    if let byte { text.append(byte) }
  }

  private var nextID: GenerationID {
    guard let frame = stack.last else { return id }
    return frame.isStructure ? frame.id.member(frame.key) : frame.id.element(frame.elements.count)
  }

  private mutating func close() {
    guard let frame = stack.popLast() else { return }
    finish(container(frame, isComplete: true, isRoot: stack.isEmpty))
  }

  private func container(_ frame: Frame, isComplete: Bool, isRoot: Bool) -> GeneratedContent {
    frame.isStructure
      ? GeneratedContent(
        kind: .structure(properties: frame.properties, orderedKeys: frame.keys), id: frame.id, isComplete: isComplete)
      : GeneratedContent(kind: .array(frame.elements), id: isRoot ? frame.id : nil, isComplete: isComplete)
  }

  /// Takes in a complete value.
  mutating func finish(_ value: GeneratedContent) {
    text.removeAll(keepingCapacity: true)
    guard !stack.isEmpty else {
      var value = value
      value.id = id
      root = value
      state = .end
      return
    }
    Self.add(value, to: &stack[stack.count - 1])
    state = .separator
  }

  private static func add(_ value: GeneratedContent, to frame: inout Frame) {
    if frame.isStructure {
      frame.properties[frame.key] = value
      frame.keys.append(frame.key)
    } else {
      frame.elements.append(value)
    }
  }

  func unexpected(_ byte: UInt8, _ expected: String) -> JSONError {
    let found = (0x21...0x7E).contains(byte) ? "'\(Unicode.Scalar(byte))'" : "byte 0x" + String(byte, radix: 16, uppercase: true)
    return .unexpected(offset: offset, expected: expected, found: found)
  }
}
