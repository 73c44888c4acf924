internal import DibitFailure

/// Recursive descent over the tokens of a template; the recursion is bounded by ``nestingLimit``.
struct JinjaParser {
  static let nestingLimit = 64
  static let depthLimit = 100

  let source: [Unicode.Scalar]
  let tokens: [LocatedToken]
  var index = 0
  var nesting = 0
  var scopeCount = 1
  /// Loops around this position, in this macro.
  var loopDepth = 0
  /// Loops around this position.
  var forDepth = 0

  init(_ template: String) throws(JinjaError) {
    var lexer = JinjaLexer(template)
    tokens = try lexer.run()
    source = lexer.source
  }

  var token: Token { tokens[index].token }
  var offset: Int { tokens[index].offset }
  var following: Token { tokens[min(index + 1, tokens.count - 1)].token }

  mutating func advance() { if index < tokens.count - 1 { index += 1 } }

  mutating func accept(_ expected: Token) -> Bool {
    guard token == expected else { return false }
    advance()
    return true
  }

  mutating func accept(op: String) -> Bool { accept(.op(op)) }
  mutating func accept(name: String) -> Bool { accept(.name(name)) }

  mutating func expect(_ expected: Token) throws(JinjaError) {
    guard accept(expected) else { throw unexpected(expected.shown) }
  }

  mutating func expectName() throws(JinjaError) -> String {
    guard case .name(let name) = token else { throw unexpected("a name") }
    advance()
    return name
  }

  func position(at offset: Int) -> JinjaPosition { JinjaPosition(of: offset, in: source) }
  func unexpected(_ expected: String) -> JinjaError { .syntax(at: position(at: offset), "expected \(expected), found \(token.shown)") }

  mutating func nest() throws(JinjaError) {
    guard nesting < Self.nestingLimit else { throw .limit(at: position(at: offset), .nesting, maximum: Self.nestingLimit) }
    nesting += 1
  }

  private mutating func scope() -> Int {
    scopeCount += 1
    return scopeCount - 1
  }

  /// The whole template.
  mutating func template() throws(JinjaError) -> [Statement] { try statements(until: []) }

  /// Statements up to a tag whose name is in `ends`, which becomes the current token.
  private mutating func statements(until ends: [String]) throws(JinjaError) -> [Statement] {
    try nest()
    defer { nesting -= 1 }
    var result: [Statement] = []
    while true {
      switch token {
      case .data(let text):
        result.append(.data(text))
        advance()
      case .variableBegin:
        advance()
        result.append(.output(try tupleOrExpression()))
        try expect(.variableEnd)
      case .blockBegin:
        advance()
        if case .name(let name) = token, ends.contains(name) { return result }
        try statement(into: &result)
        try expect(.blockEnd)
      case .end:
        guard ends.isEmpty else { throw unexpected("'\(ends.joined(separator: "' or '"))'") }
        return result
      default: throw unexpected("text or a tag")
      }
    }
  }

  /// The body of a tag, up to one of the names, which is taken and returned.
  private mutating func body(until ends: String...) throws(JinjaError) -> (statements: [Statement], end: String) {
    _ = accept(op: ":")
    try expect(.blockEnd)
    let statements = try statements(until: ends)
    return (statements, try expectName())
  }

  private mutating func statement(into result: inout [Statement]) throws(JinjaError) {
    let start = offset
    switch try expectName() {
    case "if": result.append(try branch())
    case "for": result.append(.loop(try loop(start)))
    case "set": result.append(try assignment(start))
    case "macro": result.append(.macro(try macro(start)))
    case "with": result.append(try with())
    case "print":
      while token != .blockEnd {
        result.append(.output(try expression()))
        guard accept(op: ",") else { break }
      }
    case "generation":
      let scope = scope()
      result.append(
        .generation(
          try function { (p: inout JinjaParser) throws(JinjaError) in try p.body(until: "endgeneration").statements }, scope: scope))
    case "break", "continue":
      guard loopDepth > 0 else { throw .syntax(at: position(at: start), "'break' and 'continue' stand outside a loop") }
      result.append(tokens[index - 1].token == .name("break") ? .leave(offset: start) : .next(offset: start))
    case let name:
      let known = ["include", "import", "from", "extends", "block", "call", "filter", "autoescape", "trans", "do", "debug"]
      if known.contains(name) { throw .unsupported(at: position(at: start), "the tag '\(name)'") }
      throw .syntax(at: position(at: start), "unexpected tag \(quoted(name))")
    }
  }

  /// Parses what cannot leave a loop around it.
  private mutating func function<T>(_ parse: (inout JinjaParser) throws(JinjaError) -> T) throws(JinjaError) -> T {
    let outer = loopDepth
    loopDepth = 0
    let result = try parse(&self)
    loopDepth = outer
    return result
  }

  private mutating func branch() throws(JinjaError) -> Statement {
    var branches: [(test: Expression, body: [Statement])] = []
    while true {
      let test = try tupleOrExpression(conditional: false)
      let (statements, end) = try body(until: "elif", "else", "endif")
      branches.append((test, statements))
      switch end {
      case "elif": continue
      case "else": return .branch(branches, otherwise: try body(until: "endif").statements)
      default: return .branch(branches, otherwise: [])
      }
    }
  }

  private mutating func loop(_ start: Int) throws(JinjaError) -> Loop {
    forDepth += 1
    defer { forDepth -= 1 }
    let target = try target(members: false, ends: ["in"])
    guard accept(name: "in") else { throw unexpected("'in'") }
    let iterable = try tupleOrExpression(conditional: false, ends: ["recursive"])
    let test = accept(name: "if") ? try expression() : nil
    if token == .name("recursive") { throw .unsupported(at: position(at: offset), "'recursive'") }
    let (bodyScope, testScope, otherwiseScope) = (scope(), scope(), scope())
    loopDepth += 1
    let (statements, end) = try body(until: "endfor", "else")
    loopDepth -= 1
    let otherwise = end == "else" ? try body(until: "endfor").statements : []
    return Loop(
      target: target, iterable: iterable, test: test, body: statements, otherwise: otherwise, bodyScope: bodyScope, testScope: testScope,
      otherwiseScope: otherwiseScope, offset: start)
  }

  private mutating func assignment(_ start: Int) throws(JinjaError) -> Statement {
    let target = try target(members: true, ends: [])
    if accept(op: "=") { return .set(target, try tupleOrExpression()) }
    var filters: [(name: String, arguments: Arguments, offset: Int)] = []
    while accept(op: "|") {
      let filterOffset = offset
      let (name, arguments) = try filterCall()
      filters.append((name, arguments, filterOffset))
    }
    let scope = scope()
    return .setBlock(target, filters: filters, body: try body(until: "endset").statements, scope: scope, offset: start)
  }

  private mutating func macro(_ start: Int) throws(JinjaError) -> Macro {
    let name = try storedName()
    var parameters: [(name: String, value: Expression?)] = []
    try expect(.op("("))
    while token != .op(")") {
      if !parameters.isEmpty { try expect(.op(",")) }
      let nameOffset = offset
      let parameter = try expectName()
      if parameters.contains(where: { $0.name == parameter }) {
        throw .syntax(at: position(at: nameOffset), "the parameter \(quoted(parameter)) appears twice")
      }
      if ["caller", "kwargs", "varargs"].contains(parameter) {
        throw .unsupported(at: position(at: nameOffset), "the parameter '\(parameter)'")
      }
      let value = accept(op: "=") ? try expression() : nil
      if value == nil, parameters.last?.value != nil {
        throw .syntax(at: position(at: nameOffset), "a parameter without default follows one with a default")
      }
      parameters.append((parameter, value))
    }
    advance()
    let scope = scope()
    let statements = try function { (p: inout JinjaParser) throws(JinjaError) in try p.body(until: "endmacro").statements }
    return Macro(name: name, parameters: parameters, body: statements, scope: scope, offset: start)
  }

  private mutating func with() throws(JinjaError) -> Statement {
    var assignments: [(target: Target, value: Expression)] = []
    while token != .blockEnd {
      if !assignments.isEmpty { try expect(.op(",")) }
      let target = try target(members: false, ends: [], single: true)
      try expect(.op("="))
      assignments.append((target, try expression()))
    }
    let scope = scope()
    return .with(assignments, body: try body(until: "endwith").statements, scope: scope)
  }

  private mutating func storedName() throws(JinjaError) -> String {
    let start = offset
    let name = try expectName()
    if ["true", "false", "none", "True", "False", "None"].contains(name) {
      throw .syntax(at: position(at: start), "nothing can be assigned to '\(name)'")
    }
    if name == "loop", forDepth > 0 { throw .syntax(at: position(at: start), "nothing can be assigned to 'loop' in a loop") }
    return name
  }

  /// Names, members of namespaces where `members` allows them, and tuples of these.
  private mutating func target(members: Bool, ends: [String], single: Bool = false) throws(JinjaError) -> Target {
    var targets: [Target] = []
    var isTuple = false
    repeat {
      if isTuple {
        if token == .blockEnd || token == .op(")") || token == .op("=") { break }
        if case .name(let name) = token, ends.contains(name) { break }
      }
      targets.append(try targetElement(members: members))
      if single { break }
      guard token == .op(",") else { break }
      isTuple = true
    } while accept(op: ",")
    return isTuple ? .tuple(targets) : targets[0]
  }

  private mutating func targetElement(members: Bool) throws(JinjaError) -> Target {
    if accept(op: "(") {
      try nest()
      defer { nesting -= 1 }
      let target = try target(members: members, ends: [])
      try expect(.op(")"))
      return target
    }
    let start = offset
    if members, case .name(let name) = token, following == .op(".") {
      advance()
      advance()
      return .member(of: name, try expectName(), offset: start)
    }
    return .name(try storedName())
  }
}
