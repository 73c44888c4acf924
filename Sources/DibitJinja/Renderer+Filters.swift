extension Renderer {
  /// Filters that have a name in Jinja.
  static let filters: Set<String> = [
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "indent", "int", "items", "join", "last", "length", "list",
    "lower", "map", "max", "min", "reject", "rejectattr", "replace", "reverse", "round", "safe", "select", "selectattr", "sort", "string",
    "sum", "title", "tojson", "trim", "unique", "upper",
  ]

  func apply(_ name: String, to value: Value, _ arguments: CallArguments, _ offset: Int) throws(JinjaError) -> Value {
    self.offset = offset
    try charge()
    switch name {
    case "upper", "lower", "capitalize", "title", "string", "safe", "count", "length", "list", "first", "last", "abs", "items", "reverse":
      guard arguments.isEmpty else { throw invalid("the filter '\(name)' takes no arguments") }
      return try plain(name, value)
    case "trim":
      let characters = try arguments.bound(["chars"], self, for: name)[0] ?? .none
      let text = try text(of: value)
      try charge(bytes: text.utf8.count)
      return .string(PythonText.strip(text, characters.isNone ? nil : try needText(characters, name)))
    case "replace":
      let values = try arguments.bound(["old", "new", "count"], required: 2, self, for: name)
      let limit = values[2] ?? .none
      guard limit.isNone || limit.wholeNumber != nil else { throw wrongType(limit, name) }
      return try replaced(
        try text(of: value), try text(of: values[0] ?? .none), try text(of: values[1] ?? .none), limit.wholeNumber ?? -1)
    case "default", "d":
      let values = try arguments.bound(["default_value", "boolean"], self, for: name)
      return value.isUndefined || (values[1]?.isTrue ?? false) && !value.isTrue ? values[0] ?? .string("") : value
    case "join": return try join(value, arguments)
    case "tojson": return try json(value, arguments)
    case "indent": return try indent(value, arguments)
    case "map": return try map(value, arguments)
    case "select", "reject", "selectattr", "rejectattr": return try select(name, value, arguments)
    default: return try number(name, value, arguments)
    }
  }

  private func plain(_ name: String, _ value: Value) throws(JinjaError) -> Value {
    switch name {
    case "upper", "lower", "capitalize":
      let text = try text(of: value)
      try charge(bytes: text.utf8.count)
      return try simple(name, text)
    case "title":
      let text = try text(of: value)
      try charge(bytes: text.utf8.count)
      return .string(PythonText.titleWords(text))
    case "string": return value.text == nil ? .string(try text(of: value)) : value
    case "safe": return .markup(try text(of: value))
    case "count", "length": return .integer(try length(of: value))
    case "list": return try list(try iterate(value))
    case "first":
      if case .iterator(let iterator) = value { return iterator.take() ?? .undefined("the first item", isUnsafe: false) }
      return try iterate(value).first ?? .undefined("the first item", isUnsafe: false)
    case "last":
      switch value {
      case .iterator, .undefined, .loop: throw wrongType(value, name)
      default: return try iterate(value).last ?? .undefined("the last item", isUnsafe: false)
      }
    case "abs":
      if let whole = value.wholeNumber { return .integer(whole < 0 ? try checked(0.subtractingReportingOverflow(whole)) : whole) }
      guard case .float(let number) = value else { throw wrongType(value, name) }
      return .float(number.magnitude)
    case "items":
      if value.isUndefined { return try iterator([]) }
      guard case .dictionary(let dictionary) = value else { throw wrongType(value, name) }
      return try iterator(try items(dictionary))
    default:
      if let text = value.text { return .string(PythonText.string(text.unicodeScalars.reversed())) }
      let values = try iterate(value)
      if case .iterator = value { return try list(values.reversed()) }
      return value.isUndefined ? try list([]) : try iterator(values.reversed())
    }
  }

  private func join(_ value: Value, _ arguments: CallArguments) throws(JinjaError) -> Value {
    let values = try arguments.bound(["d", "attribute"], self, for: "join")
    let separator = try text(of: values[0] ?? .string(""))
    var result = ""
    for (index, element) in try iterate(value).enumerated() {
      if index > 0 { result += separator }
      let element = try values[1].map { (path: Value) throws(JinjaError) in path.isNone ? element : try follow(path, element) } ?? element
      let part = try text(of: element)
      try charge(bytes: part.utf8.count)
      guard result.utf8.count + part.utf8.count <= limits.outputBytes else {
        throw .limit(at: position, .textBytes, maximum: limits.outputBytes)
      }
      result += part
    }
    return .string(result)
  }

  /// `a.b.0` of a value, as `attribute=` has it.
  func follow(_ path: Value, _ value: Value, default missing: Value = .none) throws(JinjaError) -> Value {
    var value = value
    var keys: [Value] = []
    if let text = path.text {
      keys = PythonText.split(text, separator: ".", limit: -1).map { part in
        !part.isEmpty && part.unicodeScalars.allSatisfy(isDigit) ? Int(part).map(Value.integer) ?? .string(part) : .string(part)
      }
    } else if !path.isNone {
      keys = [path]
    }
    for key in keys {
      value = try item(key, of: value)
      if value.isUndefined, !missing.isNone { value = missing }
    }
    return value
  }

  private func indent(_ value: Value, _ arguments: CallArguments) throws(JinjaError) -> Value {
    let values = try arguments.bound(["width", "first", "blank"], self, for: "indent")
    let text = try needText(value, "indent") + "\n"
    let width = values[0] ?? .integer(4)
    let indention: String
    if let text = width.text {
      indention = text
    } else {
      guard let count = width.wholeNumber else { throw wrongType(width, "indent") }
      try charge(bytes: max(0, count))
      indention = String(repeating: " ", count: max(0, count))
    }
    let lines = PythonText.lines(text)
    let total = lines.count.multipliedReportingOverflow(by: indention.utf8.count)
    try charge(bytes: total.overflow ? .max : total.partialValue)
    let indentsBlank = values[2]?.isTrue ?? false
    var result = values[1]?.isTrue ?? false ? indention : ""
    for (index, line) in lines.enumerated() {
      if index > 0 { result += "\n" + (indentsBlank || !line.isEmpty ? indention : "") }
      result += line
    }
    return .string(result)
  }

  private func map(_ value: Value, _ arguments: CallArguments) throws(JinjaError) -> Value {
    guard value.isTrue else { return try iterator([]) }
    var results: [Value] = []
    let start = offset
    if arguments.positional.isEmpty, arguments.named.contains(where: { $0.name == "attribute" }) {
      let values = try arguments.bound(["attribute", "default"], required: 1, self, for: "map")
      for element in try iterate(value) {
        try charge()
        results.append(try follow(values[0] ?? .none, element, default: values[1] ?? .none))
      }
    } else {
      guard let name = arguments.positional.first?.text else { throw invalid("'map' needs a filter or an attribute") }
      let rest = CallArguments(positional: Array(arguments.positional.dropFirst()), named: arguments.named)
      for element in try iterate(value) {
        try descend()
        defer { depth -= 1 }
        results.append(try apply(name, to: element, rest, start))
      }
    }
    return try iterator(results)
  }

  private func select(_ filter: String, _ value: Value, _ arguments: CallArguments) throws(JinjaError) -> Value {
    guard value.isTrue else { return try iterator([]) }
    var rest = arguments.positional[...]
    let path = filter.hasSuffix("attr") ? rest.popFirst() : nil
    if filter.hasSuffix("attr"), path == nil { throw invalid("'\(filter)' needs an attribute") }
    let test = rest.popFirst()
    guard test == nil || test?.text != nil else { throw invalid("'\(filter)' needs the name of a test") }
    let others = CallArguments(positional: Array(rest), named: arguments.named)
    var results: [Value] = []
    for element in try iterate(value) {
      try charge()
      let subject = try path.map { (path: Value) throws(JinjaError) in try follow(path, element) } ?? element
      let passes = try test?.text.map { (name: String) throws(JinjaError) in try self.test(name, subject, others) } ?? subject.isTrue
      if passes == filter.hasPrefix("select") { results.append(element) }
    }
    return try iterator(results)
  }
}
