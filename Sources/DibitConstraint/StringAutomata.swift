/// The leaves that every schema shares, with the same numbers in every table, so that what tokens do in them is worked out once for a
/// vocabulary.
struct SharedLeaves: Sendable {
  /// A string of any text with every escape of JSON.
  let text: Int32
  /// The state between the scalars of ``text``.
  let textBody: Int32
  /// A key that is not declared, with the colon behind it, spelled in the one canonical way.
  let key: Int32
  /// A comma before ``key``.
  let nextKey: Int32
  /// The state between the scalars of ``key``.
  let keyBody: Int32
  /// The states inside the quotes of ``key``.
  let keyStates: Range<Int32>
  let integer: Int32
  let number: Int32
  let null: Int32
  let boolean: Int32
  let openBrace: Int32
  let closeBrace: Int32
  let openBracket: Int32
  let closeBracket: Int32
  let comma: Int32
  /// The states of all of these.
  let count: Int32

  init(in automaton: inout ByteAutomaton) {
    text = automaton.append(AutomatonDraft.text())
    textBody = text + 1
    nextKey = automaton.append(AutomatonDraft.key())
    (key, keyBody) = (nextKey + 1, nextKey + 2)
    keyStates = keyBody..<Int32(automaton.count - 2)
    integer = automaton.append(NumberAutomaton.anyInteger)
    number = automaton.append(NumberAutomaton.anyNumber)
    func literal(_ text: String...) -> Int32 { automaton.append(AutomatonDraft.trie(text.map { Array($0.utf8) }), isTree: true) }
    (null, boolean) = (literal("null"), literal("true", "false"))
    (openBrace, closeBrace, openBracket, closeBracket, comma) = (literal("{"), literal("}"), literal("["), literal("]"), literal(","))
    count = Int32(automaton.count)
  }
}

extension AutomatonDraft {
  /// A string in quotes; state 1 stands between its scalars.
  static func text() -> AutomatonDraft {
    var draft = AutomatonDraft()
    let (open, body, close) = (draft.addState(), draft.addState(), draft.addState(accepting: true))
    draft.addArc(open, "\"", body)
    draft.addArc(body, "\"", close)
    draft.addPlainScalars(body)
    let escape = draft.addState()
    draft.addArc(body, "\\", escape)
    for character in ["\"", "\\", "/", "b", "f", "n", "r", "t"] as [Unicode.Scalar] { draft.addArc(escape, character, body) }
    // After \u: a scalar of the basic plane takes four digits; a high surrogate takes a low one behind it.
    let (first, second, third, fourth) = (draft.addState(), draft.addState(), draft.addState(), draft.addState())
    draft.addArc(escape, "u", first)
    draft.addHex(first, excluding: 0xD, second)
    for (from, to) in [(second, third), (third, fourth), (fourth, body)] { draft.addHex(from, to) }
    let surrogate = draft.addState()
    draft.addArc(first, "d", surrogate)
    draft.addArc(first, "D", surrogate)
    draft.addArc(surrogate, "0"..."7", third)
    let (high3, high4, slash, u) = (draft.addState(), draft.addState(), draft.addState(), draft.addState())
    draft.addArc(surrogate, "8"..."9", high3)
    draft.addArc(surrogate, "a"..."b", high3)
    draft.addArc(surrogate, "A"..."B", high3)
    draft.addHex(high3, high4)
    draft.addHex(high4, slash)
    draft.addArc(slash, "\\", u)
    let (low1, low2) = (draft.addState(), draft.addState())
    draft.addArc(u, "u", low1)
    draft.addArc(low1, "d", low2)
    draft.addArc(low1, "D", low2)
    draft.addArc(low2, "c"..."f", third)
    draft.addArc(low2, "C"..."F", third)
    draft.sortArcs()
    return draft
  }

  /// A comma, a string without needless escapes, and a colon; state 1 is behind the comma, state 2 between the scalars.
  static func key() -> AutomatonDraft {
    var draft = AutomatonDraft()
    let (comma, open, body) = (draft.addState(), draft.addState(), draft.addState())
    draft.addArc(comma, ",", open)
    draft.addArc(open, "\"", body)
    draft.addPlainScalars(body)
    let escape = draft.addState()
    draft.addArc(body, "\\", escape)
    for character in ["\"", "\\", "n", "r", "t"] as [Unicode.Scalar] { draft.addArc(escape, character, body) }
    let zero = draft.addPath(escape, "u00".utf8)
    let (u000, u001) = (draft.addState(), draft.addState())
    draft.addArc(zero, "0", u000)
    draft.addArc(zero, "1", u001)
    // The writer spells \t, \n and \r in their short forms.
    draft.addArc(u000, "0"..."8", body)
    draft.addArc(u000, "b"..."c", body)
    draft.addArc(u000, "e"..."f", body)
    draft.addArc(u001, "0"..."9", body)
    draft.addArc(u001, "a"..."f", body)
    let (colon, end) = (draft.addState(), draft.addState(accepting: true))
    draft.addArc(body, "\"", colon)
    draft.addArc(colon, ":", end)
    draft.sortArcs()
    return draft
  }

  /// Scalars that need no escape, from a state back to it.
  private mutating func addPlainScalars(_ body: Int32) {
    addArc(body, 0x20...0x21, body)
    addArc(body, 0x23...0x5B, body)
    addArc(body, 0x5D...0x7F, body)
    let (one, two, three) = (addState(), addState(), addState())
    addArc(one, 0x80...0xBF, body)
    addArc(two, 0x80...0xBF, one)
    addArc(three, 0x80...0xBF, two)
    addArc(body, 0xC2...0xDF, one)
    addArc(body, 0xE1...0xEC, two)
    addArc(body, 0xEE...0xEF, two)
    addArc(body, 0xF1...0xF3, three)
    for (lead, range, target) in [(0xE0, 0xA0...0xBF, one), (0xED, 0x80...0x9F, one), (0xF0, 0x90...0xBF, two), (0xF4, 0x80...0x8F, two)]
      as [(UInt8, ClosedRange<UInt8>, Int32)]
    {
      let state = addState()
      addArc(body, lead...lead, state)
      addArc(state, range, target)
    }
  }

  private mutating func addArc(_ from: Int32, _ range: ClosedRange<Unicode.Scalar>, _ target: Int32) {
    addArc(from, UInt8(ascii: range.lowerBound)...UInt8(ascii: range.upperBound), target)
  }

  /// The hexadecimal digits, less the letter of one value.
  private mutating func addHex(_ from: Int32, excluding: UInt8? = nil, _ target: Int32) {
    addArc(from, "0"..."9", target)
    for digit in UInt8(0xA)...0xF where digit != excluding {
      for base in [UInt8(ascii: "a"), UInt8(ascii: "A")] { addArc(from, (base + digit - 10)...(base + digit - 10), target) }
    }
  }
}
