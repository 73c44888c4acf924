/// The numbers that an automaton accepts. All of them have few enough digits that 64-bit integers and doubles tell them apart.
struct NumberRange: Hashable, Sendable {
  /// The least number, in units of ``fractionDigits`` places.
  var lower: Int128
  /// The greatest number, in the same units.
  var upper: Int128
  var integerDigits: Int
  var fractionDigits: Int
  /// Digits before and behind the point together.
  var totalDigits: Int
  /// Whole numbers that this does not divide are refused.
  var multiple = 1
  var allowsExponent = false

  /// Whole numbers of at most 18 digits.
  static let integers = NumberRange(limit: 18, fractionDigits: 0)
  /// Numbers of at most 15 digits: a double holds each of them apart from the others.
  static let numbers = NumberRange(limit: 15, fractionDigits: 15)

  private init(limit: Int, fractionDigits: Int) {
    integerDigits = limit
    totalDigits = limit
    self.fractionDigits = fractionDigits
    upper = NumberAutomaton.power(limit + fractionDigits) - 1
    lower = -upper
  }

  /// The numbers with at most so many places.
  func limited(places: Int) -> NumberRange {
    var range = NumberRange(limit: integerDigits, fractionDigits: min(places, fractionDigits))
    range.multiple = multiple
    return range
  }
}

/// Builds the automaton of the numbers in a range, by what each prefix can still become.
struct NumberAutomaton {
  static var anyInteger: AutomatonDraft { unlimited(.integers) }
  static var anyNumber: AutomatonDraft {
    var range = NumberRange.numbers
    range.allowsExponent = true
    return unlimited(range)
  }

  private static func unlimited(_ range: NumberRange) -> AutomatonDraft {
    var builder = NumberAutomaton(range)
    // Nothing is refused by a limit here, so neither the limit of states nor an empty result can occur.
    return builder.build(stateLimit: .max) ?? AutomatonDraft()
  }

  /// 10ⁿ.
  static func power(_ exponent: Int) -> Int128 { (0..<exponent).reduce(1) { value, _ in value * 10 } }

  private enum Relation: Hashable { case outside, inside, partial }

  private enum Phase: Hashable { case integer, point, fraction, exponent, exponentSign, exponentDigit }

  /// The worth of a prefix: two prefixes with the same worth continue alike.
  private struct Key: Hashable {
    var isNegative = false
    var phase = Phase.integer
    var digits = 0
    var decimals = 0
    /// The relation to the range of the numbers of each further digit.
    var relations: [Relation] = []
    /// The digits so far, where the limits still depend on them.
    var value: Int128?
    var remainder = 0
    var isZero = false
  }

  /// True where building stopped because there are too many states.
  private(set) var isTooLarge = false
  private let range: NumberRange
  private let unit: Int128
  private var draft = AutomatonDraft()
  private var states: [Key: Int32] = [:]
  private var work: [(state: Int32, key: Key, value: Int128)] = []

  init(_ range: NumberRange) {
    self.range = range
    unit = Self.power(range.fractionDigits)
  }

  /// The automaton without dead ends; nil when no number is in the range or the states are too many.
  mutating func build(stateLimit: Int) -> AutomatonDraft? {
    let start = draft.addState()
    let minus = draft.addState()
    draft.addArc(start, "-", minus)
    for (from, isNegative) in [(start, false), (minus, true)] {
      for digit in 0...9 as ClosedRange<Int128> {
        addDigit(digit, to: from, Key(isNegative: isNegative), value: 0)
      }
    }
    while let (state, key, value) = work.popLast() {
      guard draft.count <= stateLimit else {
        isTooLarge = true
        return nil
      }
      extend(state, key, value)
    }
    return draft.trimmed()
  }

  /// The magnitudes of numbers with this sign; -0 is left out.
  private func limits(_ isNegative: Bool) -> (lower: Int128, upper: Int128) {
    isNegative ? (max(1, -range.upper), -range.lower) : (max(0, range.lower), range.upper)
  }

  private func relation(_ lower: Int128, _ upper: Int128, _ isNegative: Bool) -> Relation {
    let limits = limits(isNegative)
    if upper < limits.lower || lower > limits.upper { return .outside }
    return lower >= limits.lower && upper <= limits.upper ? .inside : .partial
  }

  private mutating func addDigit(_ digit: Int128, to from: Int32, _ previous: Key, value: Int128) {
    var key = Key(isNegative: previous.isNegative, phase: previous.phase, digits: previous.digits, decimals: previous.decimals)
    let value = value * 10 + digit
    if key.phase == .integer {
      key.digits += 1
      key.isZero = key.digits == 1 && digit == 0
      let more = key.isZero ? 0 : range.integerDigits - key.digits
      for further in 0...more {
        let scale = Self.power(further) * unit
        key.relations.append(relation(value * scale, (value + 1) * scale - 1, key.isNegative))
      }
    } else {
      key.phase = .fraction
      key.decimals += 1
      let scale = Self.power(range.fractionDigits - key.decimals)
      key.relations = [relation(value * scale, (value + 1) * scale - 1, key.isNegative)]
    }
    guard key.relations.contains(where: { $0 != .outside }) else { return }
    if range.multiple > 1 { key.remainder = (previous.remainder * 10 + Int(digit)) % range.multiple }
    if key.relations.contains(.partial) { key.value = value }
    let character = UInt8(0x30 + digit)
    draft.addArc(from, character...character, intern(key, value))
  }

  private mutating func intern(_ key: Key, _ value: Int128) -> Int32 {
    if let state = states[key] { return state }
    let state = draft.addState(accepting: isNumber(key, value))
    states[key] = state
    work.append((state, key, value))
    return state
  }

  /// Checks whether the digits so far are a number in the range.
  private func isNumber(_ key: Key, _ value: Int128) -> Bool {
    switch key.phase {
    case .point, .exponent, .exponentSign: return false
    case .exponentDigit: return true
    case .integer, .fraction:
      let magnitude = value * Self.power(range.fractionDigits - key.decimals)
      return relation(magnitude, magnitude, key.isNegative) == .inside && key.remainder == 0
    }
  }

  private mutating func extend(_ state: Int32, _ key: Key, _ value: Int128) {
    switch key.phase {
    case .integer:
      if !key.isZero, key.digits < range.integerDigits {
        for digit in 0...9 as ClosedRange<Int128> { addDigit(digit, to: state, key, value: value) }
      }
      if min(range.fractionDigits, range.totalDigits - key.digits) > 0, key.relations[0] != .outside {
        draft.addArc(state, ".", intern(pointKey(key, value), value))
      }
      addExponent(state)
    case .point, .fraction:
      if key.decimals < min(range.fractionDigits, range.totalDigits - key.digits) {
        for digit in 0...9 as ClosedRange<Int128> { addDigit(digit, to: state, key, value: value) }
      }
      if key.phase == .fraction { addExponent(state) }
    case .exponent, .exponentSign:
      if key.phase == .exponent {
        let sign = intern(Key(phase: .exponentSign), 0)
        draft.addArc(state, "+", sign)
        draft.addArc(state, "-", sign)
      }
      draft.addArc(state, 0x30...0x39, intern(Key(phase: .exponentDigit, digits: 1), 0))
    case .exponentDigit:
      if key.digits == 1 { draft.addArc(state, 0x30...0x39, intern(Key(phase: .exponentDigit, digits: 2), 0)) }
    }
  }

  private func pointKey(_ key: Key, _ value: Int128) -> Key {
    Key(
      isNegative: key.isNegative, phase: .point, digits: key.digits, relations: [key.relations[0]],
      value: key.relations[0] == .partial ? value : nil)
  }

  private mutating func addExponent(_ state: Int32) {
    guard range.allowsExponent else { return }
    let exponent = intern(Key(phase: .exponent), 0)
    draft.addArc(state, "e", exponent)
    draft.addArc(state, "E", exponent)
  }
}
