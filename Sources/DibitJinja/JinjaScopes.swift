/// The origin of a name's value when a scope is entered.
enum NameOrigin: Sendable, Equatable {
  /// The statement that opens the scope sets it.
  case parameter
  /// From what the template was given.
  case context
  /// From the scopes around.
  case outer
  /// It has none until it is set.
  case unset
}

/// The names that a scope has of its own. Which names these are is decided before rendering, as Jinja's compiler decides it: a
/// name that a loop's body sets anywhere is the loop's own from its first line on.
struct Scope: Sendable {
  var names: [String: NameOrigin] = [:]
}

/// Finds the names of every scope of a template.
struct ScopeAnalysis {
  private(set) var scopes: [Scope]
  /// The scopes around the current one, outermost first.
  private var chain: [Int] = []
  private var names: [String: NameOrigin] = [:]
  private var stores: Set<String> = []

  init(_ statements: [Statement], scopeCount: Int) {
    scopes = Array(repeating: Scope(), count: scopeCount)
    enter(0, statements) { _ in }
  }

  /// The names of one scope first, then those of the scopes in it.
  private mutating func enter(_ scope: Int, _ body: [Statement], opening: (inout ScopeAnalysis) -> Void) {
    let saved = (names, stores)
    (names, stores) = ([:], [])
    opening(&self)
    for statement in body { visit(statement) }
    scopes[scope].names = names
    (names, stores) = saved
    chain.append(scope)
    for statement in body { descend(statement) }
    chain.removeLast()
  }

  private func isKnownOutside(_ name: String) -> Bool { chain.contains { scopes[$0].names[name] != nil } }

  private mutating func declare(_ name: String) {
    stores.insert(name)
    names[name] = .parameter
  }

  private mutating func store(_ name: String) {
    stores.insert(name)
    if names[name] == nil { names[name] = isKnownOutside(name) ? .outer : .unset }
  }

  private mutating func load(_ name: String) {
    if names[name] == nil, !isKnownOutside(name) { names[name] = .context }
  }

  private mutating func store(_ target: Target) {
    switch target {
    case .name(let name): store(name)
    case .member(let name, _, _): load(name)
    case .tuple(let targets): for target in targets { store(target) }
    }
  }

  private mutating func declare(_ target: Target) {
    switch target {
    case .name(let name): declare(name)
    case .member(let name, _, _): load(name)
    case .tuple(let targets): for target in targets { declare(target) }
    }
  }

  private mutating func visit(_ statement: Statement) {
    switch statement {
    case .data, .leave, .next, .generation: break
    case .output(let expression): visit(expression)
    case .branch(let branches, let otherwise): visit(branches[...], otherwise)
    case .loop(let loop): visit(loop.iterable)
    case .set(let target, let value):
      visit(value)
      store(target)
    case .setBlock(let target, _, _, _, _): store(target)
    case .macro(let macro): store(macro.name)
    case .with(let assignments, _, _): for assignment in assignments { visit(assignment.value) }
    }
  }

  /// Visits branches: a name that only some of them set may come from outside.
  private mutating func visit(_ branches: ArraySlice<(test: Expression, body: [Statement])>, _ otherwise: [Statement]) {
    guard let first = branches.first else { return }
    visit(first.test)
    let before = (names, stores)
    var merged = before
    var stored: Set<String> = []
    func isolated(_ body: (inout ScopeAnalysis) -> Void, _ analysis: inout ScopeAnalysis) {
      (analysis.names, analysis.stores) = before
      body(&analysis)
      merged.0.merge(analysis.names) { $1 }
      merged.1.formUnion(analysis.stores)
      stored.formUnion(analysis.stores)
    }
    isolated({ for statement in first.body { $0.visit(statement) } }, &self)
    let rest = branches.dropFirst()
    isolated({ analysis in for branch in rest { analysis.visit([branch], []) } }, &self)
    isolated({ for statement in otherwise { $0.visit(statement) } }, &self)
    (names, stores) = merged
    for name in stored.subtracting(before.1) { names[name] = isKnownOutside(name) ? .outer : .context }
  }

  private mutating func visit(_ expression: Expression) {
    switch expression.kind {
    case .constant: break
    case .name(let name): load(name)
    case .list(let elements), .tuple(let elements), .concat(let elements): for element in elements { visit(element) }
    case .dictionary(let pairs):
      for pair in pairs {
        visit(pair.key)
        visit(pair.value)
      }
    case .attribute(let base, _), .not(let base), .negate(let base), .plus(let base): visit(base)
    case .item(let left, let right), .binary(_, let left, let right), .and(let left, let right), .or(let left, let right):
      visit(left)
      visit(right)
    case .slice(let start, let stop, let step): for part in [start, stop, step].compactMap({ $0 }) { visit(part) }
    case .call(let base, let arguments), .filter(let base, _, let arguments), .test(let base, _, let arguments):
      visit(base)
      for argument in arguments.all { visit(argument) }
    case .compare(let left, let operands):
      visit(left)
      for operand in operands { visit(operand.right) }
    case .conditional(let test, let then, let otherwise):
      visit(test)
      visit(then)
      if let otherwise { visit(otherwise) }
    }
  }

  private mutating func descend(_ statement: Statement) {
    switch statement {
    case .data, .output, .set, .leave, .next: break
    case .branch(let branches, let otherwise):
      for branch in branches { for statement in branch.body { descend(statement) } }
      for statement in otherwise { descend(statement) }
    case .loop(let loop):
      enter(loop.bodyScope, loop.body) {
        $0.declare("loop")
        $0.declare(loop.target)
      }
      enter(loop.otherwiseScope, loop.otherwise) { _ in }
      enter(loop.testScope, []) {
        $0.declare(loop.target)
        if let test = loop.test { $0.visit(test) }
      }
    case .setBlock(_, let filters, let body, let scope, _):
      enter(scope, body) { analysis in
        for filter in filters { for argument in filter.arguments.all { analysis.visit(argument) } }
      }
    case .macro(let macro):
      enter(macro.scope, macro.body) { analysis in
        for parameter in macro.parameters { analysis.declare(parameter.name) }
        for parameter in macro.parameters { if let value = parameter.value { analysis.visit(value) } }
      }
    case .generation(let body, let scope): enter(scope, body) { _ in }
    case .with(let assignments, let body, let scope): enter(scope, body) { for assignment in assignments { $0.declare(assignment.target) } }
    }
  }
}
