internal import DibitFailure

extension JinjaParser {
  private static let comparisons: Set<String> = ["==", "!=", "<", "<=", ">", ">="]

  private func node(_ kind: Expression.Kind, _ offset: Int, _ children: [Expression]) throws(JinjaError) -> Expression {
    let depth = (children.map(\.depth).max() ?? 0) + 1
    guard depth <= Self.depthLimit else { throw .limit(at: position(at: offset), .nesting, maximum: Self.depthLimit) }
    return Expression(kind: kind, offset: offset, depth: depth)
  }

  mutating func expression() throws(JinjaError) -> Expression {
    try nest()
    defer { nesting -= 1 }
    var result = try or()
    while token == .name("if") {
      let start = offset
      advance()
      let test = try or()
      let otherwise = accept(name: "else") ? try expression() : nil
      result = try node(.conditional(test: test, then: result, else: otherwise), start, [test, result] + (otherwise.map { [$0] } ?? []))
    }
    return result
  }

  /// An expression, or a tuple without parentheses.
  mutating func tupleOrExpression(conditional: Bool = true, ends: [String] = [], parentheses: Bool = false) throws(JinjaError) -> Expression
  {
    let start = offset
    var elements: [Expression] = []
    var isTuple = false
    while true {
      if token == .variableEnd || token == .blockEnd || token == .op(")") { break }
      if case .name(let name) = token, ends.contains(name) { break }
      elements.append(try conditional ? expression() : or())
      guard accept(op: ",") else { break }
      isTuple = true
    }
    if !isTuple {
      if let only = elements.first { return only }
      guard parentheses else { throw unexpected("an expression") }
    }
    return try node(.tuple(elements), start, elements)
  }

  private mutating func or() throws(JinjaError) -> Expression {
    var left = try and()
    while token == .name("or") {
      let start = offset
      advance()
      let right = try and()
      left = try node(.or(left, right), start, [left, right])
    }
    return left
  }

  private mutating func and() throws(JinjaError) -> Expression {
    var left = try not()
    while token == .name("and") {
      let start = offset
      advance()
      let right = try not()
      left = try node(.and(left, right), start, [left, right])
    }
    return left
  }

  private mutating func not() throws(JinjaError) -> Expression {
    var starts: [Int] = []
    while token == .name("not") {
      starts.append(offset)
      advance()
    }
    var result = try comparison()
    for start in starts.reversed() { result = try node(.not(result), start, [result]) }
    return result
  }

  private mutating func comparison() throws(JinjaError) -> Expression {
    let start = offset
    let left = try sum()
    var operands: [(op: String, right: Expression)] = []
    while true {
      if case .op(let op) = token, Self.comparisons.contains(op) {
        advance()
        operands.append((op, try sum()))
      } else if accept(name: "in") {
        operands.append(("in", try sum()))
      } else if token == .name("not"), following == .name("in") {
        advance()
        advance()
        operands.append(("not in", try sum()))
      } else {
        break
      }
    }
    return operands.isEmpty ? left : try node(.compare(left, operands), start, [left] + operands.map(\.right))
  }

  private mutating func sum() throws(JinjaError) -> Expression {
    var left = try concatenation()
    while case .op(let op) = token, op == "+" || op == "-" {
      let start = offset
      advance()
      let right = try concatenation()
      left = try node(.binary(op, left, right), start, [left, right])
    }
    return left
  }

  private mutating func concatenation() throws(JinjaError) -> Expression {
    let start = offset
    var parts = [try product()]
    while accept(op: "~") { parts.append(try product()) }
    return parts.count == 1 ? parts[0] : try node(.concat(parts), start, parts)
  }

  private mutating func product() throws(JinjaError) -> Expression {
    var left = try power()
    while case .op(let op) = token, ["*", "/", "//", "%"].contains(op) {
      let start = offset
      advance()
      let right = try power()
      left = try node(.binary(op, left, right), start, [left, right])
    }
    return left
  }

  private mutating func power() throws(JinjaError) -> Expression {
    var left = try unary()
    while token == .op("**") {
      let start = offset
      advance()
      let right = try unary()
      left = try node(.binary("**", left, right), start, [left, right])
    }
    return left
  }

  private mutating func unary(filters: Bool = true) throws(JinjaError) -> Expression {
    let start = offset
    var result: Expression
    if token == .op("-") || token == .op("+") {
      let isMinus = token == .op("-")
      advance()
      try nest()
      defer { nesting -= 1 }
      let operand = try unary(filters: false)
      result = try node(isMinus ? .negate(operand) : .plus(operand), start, [operand])
    } else {
      result = try primary()
    }
    result = try postfix(result)
    return filters ? try filtersAndTests(result) : result
  }

  private mutating func primary() throws(JinjaError) -> Expression {
    let start = offset
    switch token {
    case .name(let name):
      advance()
      switch name {
      case "true", "True": return try node(.constant(.bool(true)), start, [])
      case "false", "False": return try node(.constant(.bool(false)), start, [])
      case "none", "None": return try node(.constant(.none), start, [])
      default: return try node(.name(name), start, [])
      }
    case .string(var text):
      advance()
      while case .string(let more) = token {
        text += more
        advance()
      }
      return try node(.constant(.string(text)), start, [])
    case .integer(let value):
      advance()
      return try node(.constant(.integer(value)), start, [])
    case .float(let value):
      advance()
      return try node(.constant(.float(value)), start, [])
    case .op("("):
      advance()
      try nest()
      defer { nesting -= 1 }
      let result = try tupleOrExpression(parentheses: true)
      try expect(.op(")"))
      return result
    case .op("["): return try list(start)
    case .op("{"): return try dictionary(start)
    default: throw unexpected("an expression")
    }
  }

  private mutating func list(_ start: Int) throws(JinjaError) -> Expression {
    advance()
    var elements: [Expression] = []
    while token != .op("]") {
      if !elements.isEmpty {
        try expect(.op(","))
        if token == .op("]") { break }
      }
      elements.append(try expression())
    }
    try expect(.op("]"))
    return try node(.list(elements), start, elements)
  }

  private mutating func dictionary(_ start: Int) throws(JinjaError) -> Expression {
    advance()
    var pairs: [(key: Expression, value: Expression)] = []
    while token != .op("}") {
      if !pairs.isEmpty {
        try expect(.op(","))
        if token == .op("}") { break }
      }
      let key = try expression()
      try expect(.op(":"))
      pairs.append((key, try expression()))
    }
    try expect(.op("}"))
    return try node(.dictionary(pairs), start, pairs.flatMap { [$0.key, $0.value] })
  }

  private mutating func postfix(_ base: Expression) throws(JinjaError) -> Expression {
    var result = base
    while true {
      let start = offset
      switch token {
      case .op("."):
        advance()
        switch token {
        case .name(let name): result = try node(.attribute(result, name), start, [result])
        case .integer(let value):
          let key = try node(.constant(.integer(value)), offset, [])
          result = try node(.item(result, key), start, [result, key])
        default: throw unexpected("a name or a number")
        }
        advance()
      case .op("["): result = try subscripted(result, start)
      case .op("("):
        let arguments = try arguments()
        result = try node(.call(result, arguments), start, [result] + arguments.all)
      default: return result
      }
    }
  }

  private mutating func subscripted(_ base: Expression, _ start: Int) throws(JinjaError) -> Expression {
    advance()
    var keys: [Expression] = []
    while token != .op("]") {
      if !keys.isEmpty { try expect(.op(",")) }
      keys.append(try subscriptKey())
    }
    advance()
    let key = keys.count == 1 ? keys[0] : try node(.tuple(keys), start, keys)
    return try node(.item(base, key), start, [base, key])
  }

  private mutating func subscriptKey() throws(JinjaError) -> Expression {
    let start = offset
    var parts: [Expression?] = [nil, nil, nil]
    if token != .op(":") {
      let first = try expression()
      guard token == .op(":") else { return first }
      parts[0] = first
    }
    for part in 1...2 where accept(op: ":") {
      if token != .op(":"), token != .op("]"), token != .op(",") { parts[part] = try expression() }
    }
    return try node(.slice(parts[0], parts[1], parts[2]), start, parts.compactMap { $0 })
  }

  private mutating func filtersAndTests(_ base: Expression) throws(JinjaError) -> Expression {
    var result = base
    while true {
      let start = offset
      switch token {
      case .op("|"):
        advance()
        let (name, arguments) = try filterCall()
        result = try node(.filter(result, name, arguments), start, [result] + arguments.all)
      case .name("is"): result = try test(result, start)
      case .op("("):
        let arguments = try arguments()
        result = try node(.call(result, arguments), start, [result] + arguments.all)
      default: return result
      }
    }
  }

  mutating func filterCall() throws(JinjaError) -> (String, Arguments) {
    let name = try dottedName()
    return (name, token == .op("(") ? try arguments() : Arguments())
  }

  private mutating func dottedName() throws(JinjaError) -> String {
    var name = try expectName()
    while accept(op: ".") { name += "." + (try expectName()) }
    return name
  }

  private mutating func test(_ base: Expression, _ start: Int) throws(JinjaError) -> Expression {
    advance()
    let isNegated = accept(name: "not")
    let name = try dottedName()
    var arguments = Arguments()
    switch token {
    case .op("("): arguments = try self.arguments()
    case .name("else"), .name("or"), .name("and"): break
    case .name("is"): throw .syntax(at: position(at: offset), "tests with 'is' cannot be chained")
    case .name, .string, .integer, .float, .op("["), .op("{"): arguments.positional = [try postfix(try primary())]
    default: break
    }
    let result = try node(.test(base, name, arguments), start, [base] + arguments.all)
    return isNegated ? try node(.not(result), start, [result]) : result
  }

  private mutating func arguments() throws(JinjaError) -> Arguments {
    try expect(.op("("))
    try nest()
    defer { nesting -= 1 }
    var result = Arguments()
    while token != .op(")") {
      if token == .op("*") || token == .op("**") { throw .unsupported(at: position(at: offset), "'*' before an argument") }
      if case .name(let name) = token, following == .op("=") {
        let start = offset
        advance()
        advance()
        if result.named.contains(where: { $0.name == name }) {
          throw .syntax(at: position(at: start), "the argument \(quoted(name)) appears twice")
        }
        result.named.append((name, try expression()))
      } else {
        guard result.named.isEmpty else { throw .syntax(at: position(at: offset), "an argument without a name follows one with a name") }
        result.positional.append(try expression())
      }
      guard accept(op: ",") else { break }
    }
    try expect(.op(")"))
    return result
  }
}
