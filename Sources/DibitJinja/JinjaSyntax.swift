/// An expression of a template. ``depth`` bounds how deep evaluating and freeing it recurse.
struct Expression: Sendable {
  indirect enum Kind: Sendable {
    case constant(Literal)
    case name(String)
    case list([Expression])
    case tuple([Expression])
    case dictionary([(key: Expression, value: Expression)])
    case attribute(Expression, String)
    case item(Expression, Expression)
    case slice(Expression?, Expression?, Expression?)
    case call(Expression, Arguments)
    case filter(Expression, String, Arguments)
    case test(Expression, String, Arguments)
    case not(Expression)
    case negate(Expression)
    case plus(Expression)
    case binary(String, Expression, Expression)
    case compare(Expression, [(op: String, right: Expression)])
    case and(Expression, Expression)
    case or(Expression, Expression)
    case concat([Expression])
    case conditional(test: Expression, then: Expression, else: Expression?)
  }

  let kind: Kind
  /// The offset at which it stands, in scalars from the start of the template.
  let offset: Int
  let depth: Int
}

/// A constant of a template.
enum Literal: Sendable, Equatable {
  case none
  case bool(Bool)
  case integer(Int)
  case float(Double)
  case string(String)
}

/// The arguments of a call.
struct Arguments: Sendable {
  var positional: [Expression] = []
  var named: [(name: String, value: Expression)] = []

  var all: [Expression] { positional + named.map(\.value) }
}

/// The target to which a value is assigned.
indirect enum Target: Sendable {
  case name(String)
  case member(of: String, String, offset: Int)
  case tuple([Target])
}

/// A statement of a template. Scopes are numbers of ``Scope``s.
indirect enum Statement: Sendable {
  case data(String)
  case output(Expression)
  case branch([(test: Expression, body: [Statement])], otherwise: [Statement])
  case loop(Loop)
  case set(Target, Expression)
  case setBlock(Target, filters: [(name: String, arguments: Arguments, offset: Int)], body: [Statement], scope: Int, offset: Int)
  case macro(Macro)
  /// `generation` … `endgeneration`, whose names are its own.
  case generation([Statement], scope: Int)
  case with([(target: Target, value: Expression)], body: [Statement], scope: Int)
  case leave(offset: Int)
  case next(offset: Int)
}

/// `for target in iterable if test`.
struct Loop: Sendable {
  let target: Target
  let iterable: Expression
  let test: Expression?
  let body: [Statement]
  let otherwise: [Statement]
  let bodyScope: Int
  let testScope: Int
  let otherwiseScope: Int
  let offset: Int
}

/// `macro name(parameters)`.
struct Macro: Sendable {
  let name: String
  let parameters: [(name: String, value: Expression?)]
  let body: [Statement]
  let scope: Int
  let offset: Int
}
