internal import Glibc

extension Renderer {
  func evaluate(_ expression: Expression, _ frame: Frame) throws(JinjaError) -> Value {
    try charge()
    try descend()
    defer { depth -= 1 }
    switch expression.kind {
    case .constant(let literal): return value(of: literal)
    case .name(let name): return frame.value(of: name) ?? .name(name)
    case .list(let elements): return try list(try evaluate(elements, frame))
    case .tuple(let elements): return try tuple(try evaluate(elements, frame))
    case .dictionary(let pairs): return try dictionary(pairs, expression.offset, frame)
    case .attribute(let base, let name):
      let value = try evaluate(base, frame)
      offset = expression.offset
      return try attribute(name, of: value)
    case .item(let base, let key): return try item(base, key, expression.offset, frame)
    case .slice: throw .unsupported(at: JinjaPosition(of: expression.offset, in: template.source), "a slice among other keys")
    case .call(let callee, let arguments): return try call(callee, arguments, expression.offset, frame)
    case .filter(let base, let name, let arguments):
      return try apply(name, to: try evaluate(base, frame), try evaluate(arguments, frame), expression.offset)
    case .test(let base, let name, let arguments):
      let value = try evaluate(base, frame)
      let arguments = try evaluate(arguments, frame)
      offset = expression.offset
      return .bool(try test(name, value, arguments))
    default: return try operation(expression, frame)
    }
  }

  private func value(of literal: Literal) -> Value {
    switch literal {
    case .none: .none
    case .bool(let value): .bool(value)
    case .integer(let value): .integer(value)
    case .float(let value): .float(value)
    case .string(let text): .string(text)
    }
  }

  func evaluate(_ expressions: [Expression], _ frame: Frame) throws(JinjaError) -> [Value] {
    var values: [Value] = []
    for expression in expressions { values.append(try evaluate(expression, frame)) }
    return values
  }

  func evaluate(_ arguments: Arguments, _ frame: Frame) throws(JinjaError) -> CallArguments {
    var result = CallArguments(positional: try evaluate(arguments.positional, frame))
    for argument in arguments.named { result.named.append((argument.name, try evaluate(argument.value, frame))) }
    return result
  }

  private func dictionary(_ pairs: [(key: Expression, value: Expression)], _ offset: Int, _ frame: Frame) throws(JinjaError) -> Value {
    var dictionary = Value.Dictionary()
    for pair in pairs {
      let key = try evaluate(pair.key, frame)
      let value = try evaluate(pair.value, frame)
      self.offset = offset
      try set(key, value, in: &dictionary)
    }
    return .dictionary(dictionary)
  }

  private func item(_ base: Expression, _ key: Expression, _ offset: Int, _ frame: Frame) throws(JinjaError) -> Value {
    let value = try evaluate(base, frame)
    guard case .slice(let start, let stop, let step) = key.kind else {
      let key = try evaluate(key, frame)
      self.offset = offset
      return try item(key, of: value)
    }
    var bounds: [Value] = []
    for bound in [start, stop, step] {
      bounds.append(try bound.map { (e: Expression) throws(JinjaError) in try evaluate(e, frame) } ?? .none)
    }
    self.offset = offset
    return try slice(value, bounds)
  }

  private func call(_ callee: Expression, _ arguments: Arguments, _ offset: Int, _ frame: Frame) throws(JinjaError) -> Value {
    let function = try evaluate(callee, frame)
    if case .function("raise_exception") = function {
      let values = try evaluate(arguments, frame)
      self.offset = offset
      guard values.named.count + values.positional.count == 1 else { throw invalid("'raise_exception' takes one argument") }
      throw .raised(at: position, arguments.all.first.map(literalText) ?? "…")
    }
    let values = try evaluate(arguments, frame)
    self.offset = offset
    return try call(function, values)
  }

  /// The literal parts of a text; what is computed, from messages perhaps, is left out.
  private func literalText(_ expression: Expression) -> String {
    switch expression.kind {
    case .constant(.string(let text)): text
    case .concat(let parts): parts.map(literalText).joined()
    case .binary("+", let left, let right): literalText(left) + literalText(right)
    default: "…"
    }
  }

  private func operation(_ expression: Expression, _ frame: Frame) throws(JinjaError) -> Value {
    switch expression.kind {
    case .and(let left, let right):
      let value = try evaluate(left, frame)
      return value.isTrue ? try evaluate(right, frame) : value
    case .or(let left, let right):
      let value = try evaluate(left, frame)
      return value.isTrue ? value : try evaluate(right, frame)
    case .not(let operand): return .bool(!(try evaluate(operand, frame).isTrue))
    case .conditional(let test, let then, let otherwise):
      if try evaluate(test, frame).isTrue { return try evaluate(then, frame) }
      guard let otherwise else { return .undefined("the value of the 'if' without 'else'", isUnsafe: false) }
      return try evaluate(otherwise, frame)
    case .concat(let parts):
      var result = ""
      for part in parts {
        let text = try text(of: try evaluate(part, frame))
        try charge(bytes: result.utf8.count + text.utf8.count)
        result += text
      }
      return .string(result)
    case .compare(let left, let operands): return try compare(left, operands, expression.offset, frame)
    case .negate(let operand), .plus(let operand):
      let value = try evaluate(operand, frame)
      offset = expression.offset
      if case .negate = expression.kind { return try negative(value) }
      guard let number = value.wholeNumber.map(Value.integer) ?? value.number.map(Value.float) else { throw misfit("+", value) }
      return number
    case .binary(let op, let left, let right):
      let (left, right) = (try evaluate(left, frame), try evaluate(right, frame))
      offset = expression.offset
      return try binary(op, left, right)
    default: throw unsupported("this expression")
    }
  }

  private func misfit(_ op: String, _ values: Value...) -> JinjaError {
    for case .undefined(let name, let isUnsafe) in values { return undefined(name, isUnsafe) }
    return invalid("'\(op)' does not fit \(values.map(\.kind).joined(separator: " and "))")
  }

  private func negative(_ value: Value) throws(JinjaError) -> Value {
    if let whole = value.wholeNumber { return .integer(try checked(0.subtractingReportingOverflow(whole))) }
    guard case .float(let number) = value else { throw misfit("-", value) }
    return .float(-number)
  }

  func checked(_ result: (partialValue: Int, overflow: Bool)) throws(JinjaError) -> Int {
    guard !result.overflow else { throw .limit(at: position, .integer, maximum: 64) }
    return result.partialValue
  }

  // MARK: Comparing

  private func compare(_ first: Expression, _ operands: [(op: String, right: Expression)], _ offset: Int, _ frame: Frame) throws(JinjaError)
    -> Value
  {
    var left = try evaluate(first, frame)
    for operand in operands {
      let right = try evaluate(operand.right, frame)
      self.offset = offset
      guard try compare(operand.op, left, right) else { return .bool(false) }
      left = right
    }
    return .bool(true)
  }

  func compare(_ op: String, _ left: Value, _ right: Value) throws(JinjaError) -> Bool {
    switch op {
    case "==": return try isEqual(left, right)
    case "!=": return !(try isEqual(left, right))
    case "<": return try isLess(left, right, op)
    case ">": return try isLess(right, left, op)
    case "<=": return try isLess(left, right, op, orEqual: true)
    case ">=": return try isLess(right, left, op, orEqual: true)
    case "in": return try contains(right, left)
    default: return !(try contains(right, left))
    }
  }

  func isEqual(_ left: Value, _ right: Value) throws(JinjaError) -> Bool {
    try charge(size(left) / 64)
    return areEqual(left, right)
  }

  /// Returns the work of reading all of a value, roughly.
  private func size(_ value: Value) -> Int {
    switch value {
    case .string(let text), .markup(let text): text.utf8.count
    case .list(let elements), .tuple(let elements): elements.values.reduce(8) { $0 + size($1) }
    case .dictionary(let dictionary), .view(_, let dictionary): dictionary.values.reduce(8) { $0 + size($1) + 8 }
    default: 8
    }
  }

  func isLess(_ left: Value, _ right: Value, _ op: String = "<", orEqual: Bool = false) throws(JinjaError) -> Bool {
    try charge()
    if let left = left.wholeNumber, let right = right.wholeNumber { return orEqual ? left <= right : left < right }
    if let left = left.number, let right = right.number { return orEqual ? left <= right : left < right }
    if let left = left.text, let right = right.text {
      try charge(bytes: left.utf8.count)
      return PythonText.isLess(left, right) || (orEqual && isSameText(left, right))
    }
    switch (left, right) {
    case (.list(let left), .list(let right)), (.tuple(let left), .tuple(let right)):
      for (left, right) in zip(left.values, right.values) where !(try isEqual(left, right)) {
        return try isLess(left, right, op, orEqual: orEqual)
      }
      return orEqual ? left.values.count <= right.values.count : left.values.count < right.values.count
    default: throw misfit(op, left, right)
    }
  }

  func contains(_ container: Value, _ element: Value) throws(JinjaError) -> Bool {
    switch container {
    case .string(let text), .markup(let text):
      guard let part = element.text else { throw misfit("in", element, container) }
      try charge(bytes: text.utf8.count)
      return PythonText.contains(text, part)
    case .dictionary(let dictionary), .view(.keys, let dictionary):
      guard let key = Key(element) else { throw invalid("\(element.kind) cannot be the key of a mapping") }
      return dictionary[key] != nil
    case .iterator(let iterator):
      while let value = iterator.take() { if try isEqual(value, element) { return true } }
      return false
    case .none, .bool, .integer, .float, .macro, .function, .method, .namespace: throw misfit("in", element, container)
    default:
      for value in try iterate(container) where try isEqual(value, element) { return true }
      return false
    }
  }

  // MARK: Arithmetic

  func binary(_ op: String, _ left: Value, _ right: Value) throws(JinjaError) -> Value {
    if let a = left.wholeNumber, let b = right.wholeNumber { return try whole(op, a, b) }
    if let a = left.number, let b = right.number { return try float(op, a, b) }
    switch (op, left, right) {
    case ("+", .string(let a), .string(let b)):
      try charge(bytes: a.utf8.count + b.utf8.count)
      return .string(a + b)
    case ("+", .markup(let a), .markup(let b)): return .markup(a + b)
    case ("+", .markup, .string), ("+", .string, .markup): throw unsupported("escaping for HTML")
    case ("+", .list(let a), .list(let b)):
      try charge(elements: a.values.count + b.values.count)
      return try list(a.values + b.values)
    case ("+", .tuple(let a), .tuple(let b)):
      try charge(elements: a.values.count + b.values.count)
      return try tuple(a.values + b.values)
    case ("*", let sequence, let number) where number.wholeNumber != nil:
      return try times(sequence, number.wholeNumber ?? 0, misfit(op, left, right))
    case ("*", let number, let sequence) where number.wholeNumber != nil:
      return try times(sequence, number.wholeNumber ?? 0, misfit(op, left, right))
    case ("%", .string, _), ("%", .markup, _): throw unsupported("formatting with '%'")
    default: throw misfit(op, left, right)
    }
  }

  private func times(_ sequence: Value, _ count: Int, _ misfit: JinjaError) throws(JinjaError) -> Value {
    let count = max(0, count)
    switch sequence {
    case .string(let text):
      let bytes = text.utf8.count.multipliedReportingOverflow(by: count)
      try charge(bytes: bytes.overflow ? .max : bytes.partialValue)
      return .string(text.isEmpty ? "" : String(repeating: text, count: count))
    case .list(let elements), .tuple(let elements):
      let total = elements.values.count.multipliedReportingOverflow(by: count)
      try charge(elements: total.overflow ? .max : total.partialValue)
      let values = elements.values.isEmpty ? [] : Array(repeatElement(elements.values, count: count).joined())
      if case .list = sequence { return try list(values) }
      return try tuple(values)
    default: throw misfit
    }
  }

  private func whole(_ op: String, _ a: Int, _ b: Int) throws(JinjaError) -> Value {
    switch op {
    case "+": return .integer(try checked(a.addingReportingOverflow(b)))
    case "-": return .integer(try checked(a.subtractingReportingOverflow(b)))
    case "*": return .integer(try checked(a.multipliedReportingOverflow(by: b)))
    case "**":
      guard b >= 0 else { return try float(op, Double(a), Double(b)) }
      return .integer(try power(a, b))
    default: break
    }
    guard b != 0 else { throw invalid("division by zero") }
    if op == "/" { return .float(Double(a) / Double(b)) }
    let quotient = try checked(a.dividedReportingOverflow(by: b))
    let remainder = a.remainderReportingOverflow(dividingBy: b).partialValue
    let isBelow = remainder != 0 && (remainder < 0) != (b < 0)
    return .integer(op == "//" ? (isBelow ? quotient - 1 : quotient) : (isBelow ? remainder + b : remainder))
  }

  private func power(_ base: Int, _ exponent: Int) throws(JinjaError) -> Int {
    if base == 0 || base == 1 { return exponent == 0 ? 1 : base }
    if base == -1 { return exponent % 2 == 0 ? 1 : -1 }
    guard exponent < 64 else { throw .limit(at: position, .integer, maximum: 64) }
    var result = 1
    for _ in 0..<exponent { result = try checked(result.multipliedReportingOverflow(by: base)) }
    return result
  }

  private func float(_ op: String, _ a: Double, _ b: Double) throws(JinjaError) -> Value {
    switch op {
    case "+": return .float(a + b)
    case "-": return .float(a - b)
    case "*": return .float(a * b)
    case "**":
      if a == 0, b < 0 { throw invalid("division by zero") }
      if a < 0, b != b.rounded(), b.isFinite { throw unsupported("a complex number") }
      let result = pow(a, b)
      if result.isInfinite, a.isFinite, b.isFinite { throw invalid("the power is too large for a float") }
      return .float(result)
    default: break
    }
    guard b != 0 else { throw invalid("division by zero") }
    if op == "/" { return .float(a / b) }
    var remainder = fmod(a, b)
    var quotient = (a - remainder) / b
    if remainder != 0 {
      if (b < 0) != (remainder < 0) {
        remainder += b
        quotient -= 1
      }
    } else {
      remainder = b < 0 ? -0.0 : 0.0
    }
    guard op == "//" else { return .float(remainder) }
    guard quotient != 0 else { return .float((a / b).sign == .minus ? -0.0 : 0.0) }
    let floored = quotient.rounded(.down)
    return .float(quotient - floored > 0.5 ? floored + 1 : floored)
  }
}
