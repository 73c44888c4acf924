internal import DibitFailure

extension Renderer {
  /// `value is name(arguments)`.
  func test(_ name: String, _ value: Value, _ arguments: CallArguments) throws(JinjaError) -> Bool {
    try charge()
    let operators = [
      "==": "==", "eq": "==", "equalto": "==", "!=": "!=", "ne": "!=", "<": "<", "lt": "<", "lessthan": "<", "<=": "<=", "le": "<=",
      ">": ">", "gt": ">", "greaterthan": ">", ">=": ">=", "ge": ">=", "in": "in",
    ]
    if let op = operators[name] {
      return try compare(op, value, try arguments.bound(["other"], required: 1, self, for: name)[0] ?? .none)
    }
    switch name {
    case "divisibleby":
      let divisor = try arguments.bound(["num"], required: 1, self, for: name)[0] ?? .none
      return areEqual(try binary("%", value, divisor), .integer(0))
    case "sameas": return try isSame(value, try arguments.bound(["other"], required: 1, self, for: name)[0] ?? .none)
    default: break
    }
    guard arguments.isEmpty else {
      if Self.tests.contains(name) { throw invalid("the test '\(name)' takes no argument") }
      throw invalid("there is no test \(quoted(name))")
    }
    switch name {
    case "defined": return !value.isUndefined
    case "undefined": return value.isUndefined
    case "none": return value.isNone
    case "boolean": if case .bool = value { return true } else { return false }
    case "true": if case .bool(true) = value { return true } else { return false }
    case "false": if case .bool(false) = value { return true } else { return false }
    case "integer": if case .integer = value { return true } else { return false }
    case "float": if case .float = value { return true } else { return false }
    case "number": return value.number != nil
    case "string": return value.text != nil
    case "mapping": if case .dictionary = value { return true } else { return false }
    case "odd", "even": return areEqual(try binary("%", value, .integer(2)), .integer(name == "odd" ? 1 : 0))
    case "lower", "upper": return try simple(name == "lower" ? "islower" : "isupper", try text(of: value)).isTrue
    case "escaped": if case .markup = value { return true } else { return false }
    case "iterable":
      switch value {
      case .none, .bool, .integer, .float, .namespace, .macro, .function, .method: return false
      default: return true
      }
    case "sequence":
      switch value {
      case .undefined, .string, .markup, .list, .tuple, .dictionary, .range: return true
      default: return false
      }
    case "callable":
      switch value {
      case .macro, .function, .method, .loop, .undefined: return true
      default: return false
      }
    case "filter": return value.text.map(Self.filters.contains) ?? false
    default: throw invalid("there is no test \(quoted(name))")
    }
  }

  static let tests: Set<String> = [
    "defined", "undefined", "none", "boolean", "true", "false", "integer", "float", "number", "string", "mapping", "odd", "even", "lower",
    "upper", "escaped", "iterable", "sequence", "callable", "filter",
  ]

  /// `is` of Python, where it does not depend on how values are stored.
  private func isSame(_ left: Value, _ right: Value) throws(JinjaError) -> Bool {
    switch (left, right) {
    case (.none, .none): return true
    case (.bool(let left), .bool(let right)): return left == right
    case (.integer(let left), .integer(let right)) where left != right || (-5...256).contains(left): return left == right
    case (.string(let left), .string(let right)) where !isSameText(left, right): return false
    case (.namespace(let left), .namespace(let right)): return left === right
    default:
      if left.kind != right.kind { return false }
      throw unsupported("'sameas' of \(left.kind)")
    }
  }
}
