internal import DibitFailure

extension CallArguments {
  /// The arguments under their names; nil where one is not given.
  func bound(_ names: [String], required: Int = 0, _ renderer: Renderer, for function: String) throws(JinjaError) -> [Value?] {
    guard positional.count <= names.count else {
      throw renderer.invalid("\(quoted(function)) takes at most \(names.count) arguments, \(positional.count) found")
    }
    var result = positional.map(Optional.some) + Array(repeating: nil, count: names.count - positional.count)
    for (name, value) in named {
      guard let index = names.firstIndex(of: name), result[index] == nil else {
        throw renderer.invalid("\(quoted(function)) takes no argument \(quoted(name)) here")
      }
      result[index] = value
    }
    for index in 0..<required where result[index] == nil {
      throw renderer.invalid("\(quoted(function)) needs the argument '\(names[index])'")
    }
    return result
  }
}

extension Renderer {
  func call(_ callee: Value, _ arguments: CallArguments) throws(JinjaError) -> Value {
    switch callee {
    case .undefined(let name, let isUnsafe): throw undefined(name, isUnsafe)
    case .macro(let macro):
      try descend()
      defer { depth -= 1 }
      return try call(macro, arguments)
    case .function(let name): return try call(function: name, arguments)
    case .method(let method):
      switch method.receiver {
      case .string(let text): return try call(method.name, of: text, arguments)
      case .dictionary(let dictionary): return try call(method.name, of: dictionary, arguments)
      case .list(let elements): return try call(method.name, of: elements.values, method.receiver, arguments)
      case .tuple(let elements): return try call(method.name, of: elements.values, method.receiver, arguments)
      case .range: return try call(method.name, of: try iterate(method.receiver), method.receiver, arguments)
      case .loop(let state): return try call(method.name, of: state, arguments)
      default: throw unsupported("calling \(quoted(method.name)) of \(method.receiver.kind)")
      }
    default: throw invalid("\(callee.kind) cannot be called")
    }
  }

  private func whole(_ value: Value, _ function: String) throws(JinjaError) -> Int {
    guard let number = value.wholeNumber else { throw wrongType(value, function) }
    return number
  }

  func wrongType(_ value: Value, _ function: String) -> JinjaError {
    if case .undefined(let name, let isUnsafe) = value { return undefined(name, isUnsafe) }
    return invalid("\(quoted(function)) cannot take \(value.kind)")
  }

  func needText(_ value: Value, _ function: String) throws(JinjaError) -> String {
    guard let text = value.text else { throw wrongType(value, function) }
    try charge(bytes: text.utf8.count)
    return text
  }

  // MARK: Functions

  private func call(function: String, _ arguments: CallArguments) throws(JinjaError) -> Value {
    switch function {
    case "range": return try range(arguments)
    case "dict": return .dictionary(try members(arguments, function))
    case "namespace":
      let members = try members(arguments, function)
      let namespace = Value.Namespace(Value.Dictionary())
      for (key, value) in zip(members.keys, members.values) {
        guard let name = key.text else { throw unsupported("a namespace member that is not named by a string") }
        try assign(member: name, value, namespace)
      }
      return .namespace(namespace)
    case "strftime_now":
      let format = try needText(try arguments.bound(["format"], required: 1, self, for: function)[0] ?? .none, function)
      guard let clock else { throw unsupported("'strftime_now' without a date") }
      guard let text = clock.formatted(format) else { throw unsupported("a directive of 'strftime_now'") }
      return .string(text)
    default: throw unsupported("the function '\(function)'")
    }
  }

  private func range(_ arguments: CallArguments) throws(JinjaError) -> Value {
    guard arguments.named.isEmpty, (1...3).contains(arguments.positional.count) else { throw invalid("'range' takes one to three numbers") }
    var numbers: [Int] = []
    for value in arguments.positional { numbers.append(try whole(value, "range")) }
    let (start, stop) = numbers.count == 1 ? (0, numbers[0]) : (numbers[0], numbers[1])
    let step = numbers.count == 3 ? numbers[2] : 1
    guard step != 0 else { throw invalid("the step of 'range' cannot be zero") }
    guard step > 0 ? start < stop : start > stop else { return .range(Value.NumberRange(start: start, step: step, count: 0)) }
    let width = (step > 0 ? stop : start).subtractingReportingOverflow(step > 0 ? start : stop)
    let count = width.overflow ? Int.max : Int((UInt(width.partialValue) - 1) / step.magnitude) + 1
    // The limit that Jinja's sandbox has.
    guard count <= 100_000 else { throw .limit(at: position, .range, maximum: 100_000) }
    try charge(elements: count)
    return .range(Value.NumberRange(start: start, step: step, count: count))
  }

  private func members(_ arguments: CallArguments, _ function: String) throws(JinjaError) -> Value.Dictionary {
    guard arguments.positional.count <= 1 else { throw invalid("'\(function)' takes at most one argument without a name") }
    var result = Value.Dictionary()
    if let first = arguments.positional.first {
      if case .dictionary(let dictionary) = first {
        result = dictionary
      } else {
        for pair in try iterate(first) {
          let pair = try iterate(pair)
          guard pair.count == 2 else { throw invalid("'\(function)' takes pairs") }
          try set(pair[0], pair[1], in: &result)
        }
      }
    }
    for (name, value) in arguments.named { try set(.string(name), value, in: &result) }
    try charge(elements: result.count)
    return result
  }

  // MARK: Methods

  private func call(_ name: String, of dictionary: Value.Dictionary, _ arguments: CallArguments) throws(JinjaError) -> Value {
    switch name {
    case "get":
      guard arguments.named.isEmpty else { throw invalid("'get' takes no named arguments") }
      let values = try arguments.bound(["key", "default"], required: 1, self, for: name)
      guard let value = values[0], let key = Key(value) else { throw invalid("the key of 'get' cannot be the key of a mapping") }
      return dictionary[key] ?? values[1] ?? .none
    case "fromkeys": throw unsupported("the method 'fromkeys'")
    default:
      guard arguments.isEmpty else { throw invalid("'\(name)' takes no arguments") }
      switch name {
      case "items": return .view(.items, dictionary)
      case "keys": return .view(.keys, dictionary)
      case "values": return .view(.values, dictionary)
      default: return .dictionary(dictionary)
      }
    }
  }

  private func call(_ name: String, of values: [Value], _ receiver: Value, _ arguments: CallArguments) throws(JinjaError) -> Value {
    if name == "copy", arguments.isEmpty { return receiver }
    guard name != "copy", arguments.named.isEmpty, arguments.positional.count == 1 else { throw invalid("'\(name)' takes one value") }
    var indices: [Int] = []
    for (index, value) in values.enumerated() where try isEqual(value, arguments.positional[0]) { indices.append(index) }
    if name == "count" { return .integer(indices.count) }
    guard let first = indices.first else { throw invalid("'index' does not find the value") }
    return .integer(first)
  }

  private func call(_ name: String, of state: LoopState, _ arguments: CallArguments) throws(JinjaError) -> Value {
    guard arguments.named.isEmpty else { throw invalid("'\(name)' takes no named arguments") }
    if name == "cycle" {
      guard !arguments.positional.isEmpty else { throw invalid("'cycle' needs values") }
      return arguments.positional[state.index % arguments.positional.count]
    }
    let isSame =
      try state.changed.map { (old: [Value]) throws(JinjaError) in try isEqual(try list(old), try list(arguments.positional)) } ?? false
    state.changed = arguments.positional
    return .bool(!isSame)
  }

  private func call(_ name: String, of text: String, _ arguments: CallArguments) throws(JinjaError) -> Value {
    try charge(bytes: text.utf8.count)
    switch name {
    case "upper", "lower", "title", "capitalize", "isspace", "isdigit", "isupper", "islower", "isalpha", "isalnum":
      guard arguments.isEmpty else { throw invalid("'\(name)' takes no arguments") }
      return try simple(name, text)
    case "strip", "lstrip", "rstrip":
      guard arguments.named.isEmpty else { throw invalid("'\(name)' takes no named arguments") }
      let value = try arguments.bound(["chars"], self, for: name)[0] ?? .none
      let characters = value.isNone ? nil : try needText(value, name)
      return .string(PythonText.strip(text, characters, left: name != "rstrip", right: name != "lstrip"))
    case "split", "rsplit": return try split(name, text, arguments)
    case "splitlines":
      let keeps = try arguments.bound(["keepends"], self, for: name)[0]?.isTrue ?? false
      return try list(PythonText.lines(text, keepingEnds: keeps).map(Value.string))
    case "replace":
      guard arguments.named.isEmpty else { throw invalid("'\(name)' takes no named arguments") }
      let values = try arguments.bound(["old", "new", "count"], required: 2, self, for: name)
      let limit = try values[2].map { (value: Value) throws(JinjaError) in try whole(value, name) } ?? -1
      return try replaced(text, try needText(values[0] ?? .none, name), try needText(values[1] ?? .none, name), limit)
    case "join":
      let value = try arguments.bound(["iterable"], required: 1, self, for: name)[0] ?? .none
      var parts: [String] = []
      var total = 0
      for part in try iterate(value) {
        parts.append(try needText(part, name))
        total += parts[parts.count - 1].utf8.count + text.utf8.count
        guard total <= limits.outputBytes else { throw .limit(at: position, .textBytes, maximum: limits.outputBytes) }
      }
      try charge(bytes: total)
      return .string(parts.joined(separator: text))
    default: return try search(name, text, arguments)
    }
  }

  func simple(_ name: String, _ text: String) throws(JinjaError) -> Value {
    let scalars = text.unicodeScalars
    func all(_ isIncluded: (Unicode.Scalar) -> Bool) -> Value { .bool(!scalars.isEmpty && scalars.allSatisfy(isIncluded)) }
    switch name {
    case "upper": return .string(PythonText.upper(text))
    case "lower": return .string(PythonText.lower(text))
    case "title": return .string(PythonText.title(text))
    case "capitalize": return .string(PythonText.capitalize(text))
    case "isspace": return all(isSpace)
    case "isdigit": return all { $0.properties.numericType == .decimal || $0.properties.numericType == .digit }
    case "isalpha": return all(isLetter)
    case "isalnum": return all { isLetter($0) || $0.properties.numericType != nil }
    default:
      let wanted = name == "isupper"
      let cased = scalars.filter { $0.properties.isCased }
      return .bool(!cased.isEmpty && cased.allSatisfy { (wanted ? $0.properties.isUppercase : $0.properties.isLowercase) })
    }
  }

  private func isLetter(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: true
    default: false
    }
  }

  private func split(_ name: String, _ text: String, _ arguments: CallArguments) throws(JinjaError) -> Value {
    let values = try arguments.bound(["sep", "maxsplit"], self, for: name)
    let limit = try values[1].map { (value: Value) throws(JinjaError) in try whole(value, name) } ?? -1
    guard let value = values[0], !value.isNone else {
      if name == "rsplit", limit >= 0 { throw unsupported("'rsplit' at white space with a limit") }
      return try list(PythonText.words(text, limit: limit).map(Value.string))
    }
    let separator = try needText(value, name)
    guard !separator.isEmpty else { throw invalid("the separator of '\(name)' is empty") }
    return try list(PythonText.split(text, separator: separator, limit: limit, fromRight: name == "rsplit").map(Value.string))
  }

  func replaced(_ text: String, _ old: String, _ new: String, _ limit: Int) throws(JinjaError) -> Value {
    try charge(bytes: text.utf8.count)
    let matches = old.isEmpty ? text.unicodeScalars.count + 1 : PythonText.matches(of: old, in: text).count
    let count = limit < 0 ? matches : min(limit, matches)
    let growth = count.multipliedReportingOverflow(by: new.utf8.count)
    let total = growth.partialValue.addingReportingOverflow(text.utf8.count)
    try charge(bytes: growth.overflow || total.overflow ? .max : total.partialValue)
    return .string(PythonText.replace(text, old, new, limit: limit))
  }

  private func search(_ name: String, _ text: String, _ arguments: CallArguments) throws(JinjaError) -> Value {
    let known = ["startswith", "endswith", "find", "index", "count", "removeprefix", "removesuffix", "partition", "rpartition"]
    guard known.contains(name) else { throw unsupported("the method '\(name)' of a string") }
    guard arguments.named.isEmpty, let first = arguments.positional.first else { throw invalid("'\(name)' takes a string") }
    guard arguments.positional.count == 1 else { throw unsupported("'\(name)' with bounds") }
    if case .tuple(let elements) = first, name == "startswith" || name == "endswith" {
      for element in elements.values {
        let part = try needText(element, name)
        if name == "startswith" ? text.utf8.starts(with: part.utf8) : text.utf8.reversed().starts(with: part.utf8.reversed()) {
          return .bool(true)
        }
      }
      return .bool(false)
    }
    let part = try needText(first, name)
    let isPrefix = text.utf8.starts(with: part.utf8)
    let isSuffix = text.utf8.reversed().starts(with: part.utf8.reversed())
    switch name {
    case "startswith": return .bool(isPrefix)
    case "endswith": return .bool(isSuffix)
    case "removeprefix": return .string(isPrefix ? PythonText.string(text.unicodeScalars.dropFirst(part.unicodeScalars.count)) : text)
    case "removesuffix": return .string(isSuffix ? PythonText.string(text.unicodeScalars.dropLast(part.unicodeScalars.count)) : text)
    case "find": return .integer(PythonText.find(part, in: text) ?? -1)
    case "index":
      guard let index = PythonText.find(part, in: text) else { throw invalid("'index' does not find the text") }
      return .integer(index)
    case "count": return .integer(part.isEmpty ? text.unicodeScalars.count + 1 : PythonText.matches(of: part, in: text).count)
    default:
      guard !part.isEmpty else { throw invalid("the separator of '\(name)' is empty") }
      let pieces = PythonText.split(text, separator: part, limit: 1, fromRight: name == "rpartition")
      if pieces.count == 2 { return try tuple([.string(pieces[0]), .string(part), .string(pieces[1])]) }
      return try tuple(name == "partition" ? [.string(text), .string(""), .string("")] : [.string(""), .string(""), .string(text)])
    }
  }
}
