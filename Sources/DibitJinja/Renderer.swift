internal import DibitFailure
internal import DibitJSON

/// Renders the statements of one template once.
final class Renderer {
  let template: JinjaTemplate
  let limits: JinjaLimits
  let clock: JinjaClock?
  let context: [Key: Value]
  /// The offset of the work, for errors.
  var offset = 0
  var operations = 0
  var depth = 0
  /// The text that is written; blocks that are caught write to a text of their own.
  var output = ""
  /// Scopes that a macro keeps, emptied at the end because they hold each other.
  private var kept: [Frame] = []

  enum Flow {
    case normal
    case leave
    case next
  }

  static let functions: Set<String> = [
    "range", "dict", "lipsum", "cycler", "joiner", "namespace", "raise_exception", "strftime_now",
  ]
  static let valueDepthLimit = 100

  init(_ template: JinjaTemplate, context: [(String, JSONValue)], limits: JinjaLimits, clock: JinjaClock?) throws(JinjaError) {
    self.template = template
    self.limits = limits
    self.clock = clock
    var values: [Key: Value] = [:]
    for (name, value) in context { values[Key(name)] = try Self.value(of: value, depth: 1) }
    self.context = values
  }

  func run() throws(JinjaError) -> String {
    defer { for frame in kept { frame.values = [:] } }
    let frame = try open(0, in: nil)
    _ = try execute(template.statements, frame)
    return output
  }

  // MARK: Limits and errors

  var position: JinjaPosition { JinjaPosition(of: offset, in: template.source) }
  func invalid(_ reason: String) -> JinjaError { .invalid(at: position, reason) }
  func unsupported(_ what: String) -> JinjaError { .unsupported(at: position, what) }

  func undefined(_ name: String, _ isUnsafe: Bool) -> JinjaError {
    isUnsafe ? .forbidden(at: position, name) : .undefined(at: position, name)
  }

  func charge(_ cost: Int = 1) throws(JinjaError) {
    operations += cost
    guard operations <= limits.operations else { throw .limit(at: position, .operations, maximum: limits.operations) }
  }

  /// A text of this many bytes is about to be made or read.
  func charge(bytes: Int) throws(JinjaError) {
    guard bytes <= limits.outputBytes else { throw .limit(at: position, .textBytes, maximum: limits.outputBytes) }
    try charge(1 + bytes / 64)
  }

  /// A list of this many elements is about to be made or read.
  func charge(elements: Int) throws(JinjaError) {
    guard elements <= limits.elements else { throw .limit(at: position, .elements, maximum: limits.elements) }
    try charge(1 + elements / 8)
  }

  func descend() throws(JinjaError) {
    depth += 1
    guard depth <= limits.depth else { throw .limit(at: position, .depth, maximum: limits.depth) }
  }

  func elements(_ values: [Value]) throws(JinjaError) -> Value.Elements {
    try charge(elements: values.count)
    var depth = 1
    for value in values { depth = max(depth, value.depth + 1) }
    try check(depth: depth)
    return Value.Elements(values: values, depth: depth)
  }

  func list(_ values: [Value]) throws(JinjaError) -> Value { .list(try elements(values)) }
  func tuple(_ values: [Value]) throws(JinjaError) -> Value { .tuple(try elements(values)) }

  func iterator(_ values: [Value]) throws(JinjaError) -> Value {
    .iterator(Value.Iterator(values, depth: try elements(values).depth))
  }

  func check(depth: Int) throws(JinjaError) {
    guard depth <= Self.valueDepthLimit else { throw .limit(at: position, .valueDepth, maximum: Self.valueDepthLimit) }
  }

  func set(_ key: Value, _ value: Value, in dictionary: inout Value.Dictionary) throws(JinjaError) {
    guard let hashed = Key(key) else { throw invalid("\(key.kind) cannot be the key of a mapping") }
    dictionary.set(hashed, value)
    try check(depth: dictionary.depth)
  }

  func write(_ text: String) throws(JinjaError) {
    try charge(bytes: text.utf8.count)
    guard output.utf8.count + text.utf8.count <= limits.outputBytes else {
      throw .limit(at: position, .outputBytes, maximum: limits.outputBytes)
    }
    output += text
  }

  /// Returns the text that `body` writes, caught.
  func capture(_ body: () throws(JinjaError) -> Void) throws(JinjaError) -> String {
    let outer = output
    output = ""
    try body()
    defer { output = outer }
    return output
  }

  static func value(of json: JSONValue, depth: Int) throws(JinjaError) -> Value {
    guard depth <= valueDepthLimit else {
      throw .limit(at: JinjaPosition(line: 1, column: 1), .valueDepth, maximum: valueDepthLimit)
    }
    switch json {
    case .null: return .none
    case .bool(let value): return .bool(value)
    case .integer(let value): return .integer(value)
    case .number(let value): return .float(value)
    case .string(let text): return .string(text)
    case .array(let elements):
      var values: [Value] = []
      for element in elements { values.append(try value(of: element, depth: depth + 1)) }
      return .list(Value.Elements(values: values, depth: (values.map(\.depth).max() ?? 0) + 1))
    case .object(let object):
      var dictionary = Value.Dictionary()
      for member in object.members { dictionary.set(Key(member.key), try value(of: member.value, depth: depth + 1)) }
      return .dictionary(dictionary)
    }
  }

  // MARK: Names

  /// Enters a scope: its names get the values that they start with.
  func open(_ scope: Int, in parent: Frame?) throws(JinjaError) -> Frame {
    try charge()
    let frame = Frame(template.scopes[scope], parent: parent)
    for (name, origin) in frame.scope.names {
      switch origin {
      case .context: frame.values[name] = context[Key(name)] ?? (Self.functions.contains(name) ? .function(name) : nil)
      case .outer: frame.values[name] = parent?.value(of: name)
      case .parameter, .unset: break
      }
    }
    return frame
  }

  func assign(_ target: Target, _ value: Value, _ frame: Frame) throws(JinjaError) {
    switch target {
    case .name(let name): frame.values[name] = value
    case .member(let name, let member, let offset):
      self.offset = offset
      guard case .namespace(let namespace) = frame.value(of: name) else { throw invalid("only members of a namespace can be assigned to") }
      try assign(member: member, value, namespace)
    case .tuple(let targets):
      let values = try iterate(value, taking: targets.count)
      guard values.count == targets.count else { throw invalid("\(targets.count) values expected for the names, \(values.count) found") }
      for (target, value) in zip(targets, values) { try assign(target, value, frame) }
    }
  }

  func assign(member: String, _ value: Value, _ namespace: Value.Namespace) throws(JinjaError) {
    guard !member.hasPrefix("_") else { throw .forbidden(at: position, "the namespace member \(quoted(member))") }
    guard !holdsReference(value) else { throw unsupported("a namespace, loop or macro inside a namespace") }
    try set(.string(member), value, in: &namespace.members)
  }

  private func holdsReference(_ value: Value) -> Bool {
    switch value {
    case .namespace, .loop, .macro: true
    case .list(let elements), .tuple(let elements): elements.depth > 2 && elements.values.contains(where: holdsReference)
    case .dictionary(let dictionary), .view(_, let dictionary): dictionary.values.contains(where: holdsReference)
    case .iterator(let iterator): iterator.values.contains(where: holdsReference)
    case .method(let method): holdsReference(method.receiver)
    default: false
    }
  }

  /// The namespace check of every member in a target comes before the value is computed.
  private func checkMembers(_ target: Target, _ frame: Frame) throws(JinjaError) {
    switch target {
    case .name: break
    case .member(let name, _, let offset):
      self.offset = offset
      guard case .namespace = frame.value(of: name) else { throw invalid("only members of a namespace can be assigned to") }
    case .tuple(let targets): for target in targets { try checkMembers(target, frame) }
    }
  }

  // MARK: Statements

  func execute(_ statements: [Statement], _ frame: Frame) throws(JinjaError) -> Flow {
    try descend()
    defer { depth -= 1 }
    for statement in statements {
      let flow = try execute(statement, frame)
      if flow != .normal { return flow }
    }
    return .normal
  }

  private func execute(_ statement: Statement, _ frame: Frame) throws(JinjaError) -> Flow {
    try charge()
    switch statement {
    case .data(let text): try write(text)
    case .output(let expression): try write(try text(of: try evaluate(expression, frame)))
    case .branch(let branches, let otherwise):
      for branch in branches where try evaluate(branch.test, frame).isTrue { return try execute(branch.body, frame) }
      return try execute(otherwise, frame)
    case .loop(let loop): return try execute(loop, frame)
    case .set(let target, let value):
      try checkMembers(target, frame)
      try assign(target, try evaluate(value, frame), frame)
    case .setBlock(let target, let filters, let body, let scope, let offset):
      return try setBlock(target, filters, body, scope, offset, frame)
    case .macro(let macro):
      kept.append(frame)
      frame.values[macro.name] = .macro(Value.MacroValue(macro: macro, frame: frame))
    case .generation(let body, let scope):
      let inner = try open(scope, in: frame)
      _ = try execute(body, inner)
    case .with(let assignments, let body, let scope):
      let inner = try open(scope, in: frame)
      for assignment in assignments { try assign(assignment.target, try evaluate(assignment.value, frame), inner) }
      return try execute(body, inner)
    case .leave: return .leave
    case .next: return .next
    }
    return .normal
  }

  private func setBlock(
    _ target: Target, _ filters: [(name: String, arguments: Arguments, offset: Int)], _ body: [Statement], _ scope: Int, _ offset: Int,
    _ frame: Frame
  ) throws(JinjaError) -> Flow {
    let inner = try open(scope, in: frame)
    var flow = Flow.normal
    let text = try capture { () throws(JinjaError) in flow = try execute(body, inner) }
    guard flow == .normal else { return flow }
    var value = Value.string(text)
    for filter in filters { value = try apply(filter.name, to: value, try evaluate(filter.arguments, inner), filter.offset) }
    self.offset = offset
    try assign(target, value, frame)
    return .normal
  }

  private func execute(_ loop: Loop, _ frame: Frame) throws(JinjaError) -> Flow {
    let iterable = try evaluate(loop.iterable, frame)
    offset = loop.offset
    let source: Value.Iterator
    var length: Int?
    if case .iterator(let iterator) = iterable {
      source = iterator
    } else {
      let values = try iterate(iterable)
      source = Value.Iterator(values, depth: 1)
      if loop.test == nil { length = values.count }
    }
    let state = LoopState(source, length: length, loop: loop, frame: frame)
    var isUntouched = true
    while let value = try advance(state) {
      try charge()
      let inner = try open(loop.bodyScope, in: frame)
      inner.values["loop"] = .loop(state)
      try assign(loop.target, value, inner)
      let flow = try execute(loop.body, inner)
      if flow == .leave { break }
      // As in Jinja, only a round that reaches its end keeps 'else' from being rendered.
      if flow == .normal { isUntouched = false }
    }
    guard isUntouched, !loop.otherwise.isEmpty else { return .normal }
    return try execute(loop.otherwise, try open(loop.otherwiseScope, in: frame))
  }

  private func advance(_ state: LoopState) throws(JinjaError) -> Value? {
    guard let value = state.ahead.isEmpty ? try pull(state) : state.ahead.removeFirst() else { return nil }
    state.index += 1
    state.previous = state.current
    state.current = value
    return value
  }

  /// The next element that passes the loop's test.
  private func pull(_ state: LoopState) throws(JinjaError) -> Value? {
    while let value = state.source.take() {
      guard let test = state.loop.test else { return value }
      let frame = try open(state.loop.testScope, in: state.frame)
      try assign(state.loop.target, value, frame)
      if try evaluate(test, frame).isTrue { return value }
    }
    return nil
  }

  func peek(_ state: LoopState) throws(JinjaError) -> Value? {
    if state.ahead.isEmpty, let value = try pull(state) { state.ahead.append(value) }
    return state.ahead.first
  }

  func length(_ state: LoopState) throws(JinjaError) -> Int {
    if let length = state.length { return length }
    while let value = try pull(state) { state.ahead.append(value) }
    let length = state.index + 1 + state.ahead.count
    state.length = length
    return length
  }

  /// The text that a macro writes for these arguments.
  func call(_ value: Value.MacroValue, _ arguments: CallArguments) throws(JinjaError) -> Value {
    let macro = value.macro
    guard arguments.positional.count <= macro.parameters.count else {
      throw invalid("the macro \(quoted(macro.name)) takes not more than \(macro.parameters.count) arguments")
    }
    let frame = try open(macro.scope, in: value.frame)
    for (parameter, value) in zip(macro.parameters, arguments.positional) { frame.values[parameter.name] = value }
    for (name, value) in arguments.named {
      guard macro.parameters.dropFirst(arguments.positional.count).contains(where: { $0.name == name }) else {
        throw invalid("the macro \(quoted(macro.name)) takes no argument \(quoted(name)) here")
      }
      frame.values[name] = value
    }
    return .string(
      try capture { () throws(JinjaError) in
        for parameter in macro.parameters where frame.values[parameter.name] == nil {
          frame.values[parameter.name] =
            try parameter.value.map { (value: Expression) throws(JinjaError) in try evaluate(value, frame) }
            ?? .undefined("the parameter \(quoted(parameter.name))", isUnsafe: false)
        }
        _ = try execute(macro.body, frame)
      })
  }
}

/// Evaluated arguments.
struct CallArguments {
  var positional: [Value] = []
  var named: [(name: String, value: Value)] = []

  var isEmpty: Bool { positional.isEmpty && named.isEmpty }
}
