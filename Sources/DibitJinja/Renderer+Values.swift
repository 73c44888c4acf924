internal import DibitFailure

extension Renderer {
  // MARK: Elements

  /// The elements of whatever can be walked over; of an iterator only as many as `taking` and one more.
  func iterate(_ value: Value, taking limit: Int? = nil) throws(JinjaError) -> [Value] {
    let values: [Value]
    switch value {
    case .undefined: values = []
    case .string(let text), .markup(let text):
      try charge(elements: text.utf8.count / 4)
      values = text.unicodeScalars.map { .string(String($0)) }
    case .list(let elements), .tuple(let elements): values = elements.values
    case .dictionary(let dictionary), .view(.keys, let dictionary): values = dictionary.keys
    case .view(.values, let dictionary): values = dictionary.values
    case .view(.items, let dictionary): values = try items(dictionary)
    case .range(let range): values = (0..<range.count).map { .integer(range[$0]) }
    case .iterator(let iterator):
      if let limit {
        var taken: [Value] = []
        while taken.count <= limit, let value = iterator.take() { taken.append(value) }
        values = taken
      } else {
        values = iterator.takeAll()
      }
    case .loop: throw unsupported("walking over 'loop'")
    default: throw invalid("\(value.kind) cannot be walked over")
    }
    try charge(elements: values.count)
    return values
  }

  func items(_ dictionary: Value.Dictionary) throws(JinjaError) -> [Value] {
    var items: [Value] = []
    for (key, value) in zip(dictionary.keys, dictionary.values) { items.append(try tuple([key, value])) }
    return items
  }

  func length(of value: Value) throws(JinjaError) -> Int {
    switch value {
    case .undefined: return 0
    case .string(let text), .markup(let text):
      try charge(bytes: text.utf8.count)
      return text.unicodeScalars.count
    case .list(let elements), .tuple(let elements): return elements.values.count
    case .dictionary(let dictionary), .view(_, let dictionary): return dictionary.count
    case .range(let range): return range.count
    case .loop(let state): return try length(state)
    default: throw invalid("\(value.kind) has no length")
    }
  }

  // MARK: Attributes and items

  private static let textMethods: Set<String> = [
    "capitalize", "casefold", "center", "count", "encode", "endswith", "expandtabs", "find", "format", "format_map", "index", "isalnum",
    "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper",
    "join", "ljust", "lower", "lstrip", "maketrans", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rjust",
    "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title", "translate", "upper", "zfill",
  ]
  private static let mutating: Set<String> = [
    "append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove", "popitem", "setdefault", "update",
  ]

  /// `value.name`: methods first, then members of mappings.
  func attribute(_ name: String, of value: Value) throws(JinjaError) -> Value {
    if case .undefined(let missing, let isUnsafe) = value { throw undefined(missing, isUnsafe) }
    if let found = try method(name, of: value) { return found }
    if case .dictionary(let dictionary) = value, let member = dictionary[Key(name)] { return member }
    return .undefined("the member \(quoted(name))", isUnsafe: false)
  }

  /// Returns the attribute that Python has under this name apart from a mapping's members, or nil.
  private func method(_ name: String, of value: Value) throws(JinjaError) -> Value? {
    let refused = Value.undefined("the attribute \(quoted(name))", isUnsafe: true)
    if name.hasPrefix("__"), name.hasSuffix("__"), name.count > 4 { return refused }
    switch value {
    case .string, .markup:
      return Self.textMethods.contains(name) ? .method(Value.Method(receiver: value, name: name)) : nil
    case .dictionary:
      if ["get", "items", "keys", "values", "copy", "fromkeys"].contains(name) {
        return .method(Value.Method(receiver: value, name: name))
      }
      return ["clear", "pop", "popitem", "setdefault", "update"].contains(name) ? refused : nil
    case .list:
      if ["count", "index", "copy"].contains(name) { return .method(Value.Method(receiver: value, name: name)) }
      return Self.mutating.contains(name) && !["popitem", "setdefault", "update"].contains(name) ? refused : nil
    case .tuple: return ["count", "index"].contains(name) ? .method(Value.Method(receiver: value, name: name)) : nil
    case .range(let range):
      switch name {
      case "start": return .integer(range.start)
      case "step": return .integer(range.step)
      case "count", "index": return .method(Value.Method(receiver: value, name: name))
      case "stop": throw unsupported("the member 'stop' of a range")
      default: return nil
      }
    case .namespace(let namespace): return namespace.members[Key(name)]
    case .loop(let state): return try member(name, of: state, value)
    case .macro(let macro):
      if name == "name" { return .string(macro.macro.name) }
      if ["arguments", "catch_kwargs", "catch_varargs", "caller", "explicit_caller"].contains(name) {
        throw unsupported("the member of a macro")
      }
      return nil
    case .integer, .bool, .float:
      let known = [
        "real", "imag", "numerator", "denominator", "conjugate", "bit_length", "bit_count", "to_bytes", "from_bytes", "is_integer",
      ]
      if known.contains(name) || ["as_integer_ratio", "hex", "fromhex"].contains(name) {
        throw unsupported("the member \(quoted(name)) of a number")
      }
      return nil
    case .view, .iterator, .function, .method:
      if ["mapping", "isdisjoint", "send", "throw", "close", "fromkeys"].contains(name) { throw unsupported("the member \(quoted(name))") }
      return nil
    case .undefined, .none: return nil
    }
  }

  private func member(_ name: String, of state: LoopState, _ value: Value) throws(JinjaError) -> Value? {
    switch name {
    case "index": return .integer(state.index + 1)
    case "index0": return .integer(state.index)
    case "first": return .bool(state.index == 0)
    case "last": return .bool(try peek(state) == nil)
    case "length": return .integer(try length(state))
    case "revindex": return .integer(try length(state) - state.index)
    case "revindex0": return .integer(try length(state) - state.index - 1)
    case "depth": return .integer(1)
    case "depth0": return .integer(0)
    case "previtem":
      return state.index == 0
        ? .undefined("the item before the first", isUnsafe: false) : state.previous ?? .undefined("'previtem'", isUnsafe: false)
    case "nextitem": return try peek(state) ?? .undefined("the item after the last", isUnsafe: false)
    case "cycle", "changed": return .method(Value.Method(receiver: value, name: name))
    default: return nil
    }
  }

  /// `value[key]`: elements and members first, then methods.
  func item(_ key: Value, of value: Value) throws(JinjaError) -> Value {
    switch value {
    case .undefined(let missing, let isUnsafe): throw undefined(missing, isUnsafe)
    case .dictionary(let dictionary):
      if let key = Key(key), let member = dictionary[key] { return member }
    case .string(let text), .markup(let text):
      if let index = key.wholeNumber {
        try charge(bytes: text.utf8.count)
        let scalars = text.unicodeScalars
        let offset = index < 0 ? scalars.count + index : index
        if offset >= 0, let position = scalars.index(scalars.startIndex, offsetBy: offset, limitedBy: scalars.endIndex),
          position < scalars.endIndex
        {
          return .string(String(scalars[position]))
        }
      }
    case .list(let elements), .tuple(let elements):
      if let index = key.wholeNumber {
        let offset = index < 0 ? elements.values.count + index : index
        if elements.values.indices.contains(offset) { return elements.values[offset] }
      }
    case .range(let range):
      if let index = key.wholeNumber {
        let offset = index < 0 ? range.count + index : index
        if offset >= 0, offset < range.count { return .integer(range[offset]) }
      }
    default: break
    }
    if let name = key.text {
      if let found = try method(name, of: value) { return found }
      return .undefined("the member \(quoted(name))", isUnsafe: false)
    }
    return .undefined("the item", isUnsafe: false)
  }

  /// `value[start:stop:step]`.
  func slice(_ value: Value, _ bounds: [Value]) throws(JinjaError) -> Value {
    switch value {
    case .undefined(let name, let isUnsafe): throw undefined(name, isUnsafe)
    case .string, .markup, .list, .tuple, .range: break
    default: throw invalid("\(value.kind) cannot be sliced")
    }
    for bound in bounds where !bound.isNone && bound.wholeNumber == nil { throw wrongType(bound, "[:]") }
    let step = bounds[2].wholeNumber ?? 1
    guard step != 0 else { throw invalid("the step of a slice cannot be zero") }
    let values = try iterate(value)
    func clamp(_ bound: Value, _ missing: Int, _ low: Int, _ high: Int) -> Int {
      guard let index = bound.wholeNumber else { return missing }
      return index < 0 ? max(low, index < -values.count ? low : index + values.count) : min(high, index)
    }
    let (low, high) = step > 0 ? (0, values.count) : (-1, values.count - 1)
    let start = clamp(bounds[0], step > 0 ? low : high, low, high)
    let stop = clamp(bounds[1], step > 0 ? high : low, low, high)
    var picked: [Value] = []
    for index in stride(from: start, to: stop, by: step) { picked.append(values[index]) }
    switch value {
    case .string, .markup: return .string(picked.compactMap(\.text).joined())
    case .tuple: return try tuple(picked)
    case .range(let range):
      let first = start < values.count && start >= 0 ? range[start] : 0
      let width = range.step.multipliedReportingOverflow(by: step)
      return .range(Value.NumberRange(start: first, step: width.overflow ? 1 : width.partialValue, count: picked.count))
    default: return try list(picked)
    }
  }

  // MARK: Texts

  /// `str(value)`.
  func text(of value: Value) throws(JinjaError) -> String {
    switch value {
    case .undefined: return ""
    case .string(let text), .markup(let text): return text
    default:
      var result = ""
      try show(value, into: &result)
      return result
    }
  }

  /// `repr(value)`.
  private func show(_ value: Value, into text: inout String) throws(JinjaError) {
    try charge()
    switch value {
    case .undefined: text += "Undefined"
    case .none: text += "None"
    case .bool(let value): text += value ? "True" : "False"
    case .integer(let value): text += String(value)
    case .float(let value): text += PythonText.shown(value)
    case .string(let string):
      try charge(bytes: text.utf8.count + string.utf8.count)
      text += PythonText.shown(string)
    case .markup(let string): text += "Markup(" + PythonText.shown(string) + ")"
    case .list(let elements):
      try show(elements.values, "[", "]", into: &text)
    case .tuple(let elements): try show(elements.values, "(", elements.values.count == 1 ? ",)" : ")", into: &text)
    case .dictionary(let dictionary): try show(dictionary, into: &text)
    case .view(.keys, let dictionary): try show(dictionary.keys, "dict_keys([", "])", into: &text)
    case .view(.values, let dictionary): try show(dictionary.values, "dict_values([", "])", into: &text)
    case .view(.items, let dictionary): try show(try items(dictionary), "dict_items([", "])", into: &text)
    case .range: throw unsupported("printing a range")
    case .namespace(let namespace):
      text += "<Namespace "
      try show(namespace.members, into: &text)
      text += ">"
    case .loop(let state): text += "<LoopContext \(state.index + 1)/\(try length(state))>"
    case .macro(let macro): text += "<Macro \(PythonText.shown(macro.macro.name))>"
    case .iterator, .function, .method: throw unsupported("printing \(value.kind)")
    }
  }

  private func show(_ values: [Value], _ open: String, _ close: String, into text: inout String) throws(JinjaError) {
    text += open
    for (index, value) in values.enumerated() {
      if index > 0 { text += ", " }
      try show(value, into: &text)
    }
    text += close
  }

  private func show(_ dictionary: Value.Dictionary, into text: inout String) throws(JinjaError) {
    text += "{"
    for (index, (key, value)) in zip(dictionary.keys, dictionary.values).enumerated() {
      if index > 0 { text += ", " }
      try show(key, into: &text)
      text += ": "
      try show(value, into: &text)
    }
    text += "}"
  }
}
