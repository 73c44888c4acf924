internal import DibitFailure
internal import Glibc

extension Renderer {
  /// Filters over numbers and orders.
  func number(_ name: String, _ value: Value, _ arguments: CallArguments) throws(JinjaError) -> Value {
    switch name {
    case "int": return try int(value, arguments)
    case "float":
      let missing = try arguments.bound(["default"], self, for: name)[0] ?? .float(0)
      if value.isUndefined { throw wrongType(value, name) }
      return (value.number ?? value.text.flatMap(PythonText.float)).map(Value.float) ?? missing
    case "round": return try round(value, arguments)
    case "sort":
      let values = try arguments.bound(["reverse", "case_sensitive", "attribute"], self, for: name)
      return try list(try sorted(value, values[2] ?? .none, values[1]?.isTrue ?? false, values[0]?.isTrue ?? false))
    case "dictsort":
      let values = try arguments.bound(["case_sensitive", "by", "reverse"], self, for: name)
      guard case .dictionary(let dictionary) = value else { throw wrongType(value, name) }
      let by = values[1]?.text ?? (values[1] == nil ? "key" : "")
      guard by == "key" || by == "value" else { throw invalid("'dictsort' sorts by 'key' or 'value'") }
      let pairs = try list(try items(dictionary))
      return try list(try sorted(pairs, .integer(by == "key" ? 0 : 1), values[0]?.isTrue ?? false, values[2]?.isTrue ?? false))
    case "unique":
      let values = try arguments.bound(["case_sensitive", "attribute"], self, for: name)
      var seen: Set<Key> = []
      var results: [Value] = []
      for element in try iterate(value) {
        guard let key = Key(try sortKey(element, values[1] ?? .none, values[0]?.isTrue ?? false)) else {
          throw invalid("'unique' compares numbers and strings only")
        }
        if seen.insert(key).inserted { results.append(element) }
      }
      return try iterator(results)
    case "min", "max":
      let values = try arguments.bound(["case_sensitive", "attribute"], self, for: name)
      var best: (value: Value, key: Value)?
      for element in try iterate(value) {
        let key = try sortKey(element, values[1] ?? .none, values[0]?.isTrue ?? false)
        if let current = best, !(try name == "min" ? isLess(key, current.key) : isLess(current.key, key, ">")) { continue }
        best = (element, key)
      }
      return best?.value ?? .undefined("the item of an empty sequence", isUnsafe: false)
    case "sum":
      let values = try arguments.bound(["attribute", "start"], self, for: name)
      var total = values[1] ?? .integer(0)
      if total.text != nil { throw wrongType(total, name) }
      for element in try iterate(value) { total = try binary("+", total, try follow(values[0] ?? .none, element)) }
      return total
    default:
      let known = [
        "attr", "batch", "center", "e", "escape", "filesizeformat", "forceescape", "format", "groupby", "pprint", "random", "slice",
      ]
      let more = ["striptags", "truncate", "urlencode", "urlize", "wordcount", "wordwrap", "xmlattr"]
      throw known.contains(name) || more.contains(name)
        ? unsupported("the filter '\(name)'") : invalid("there is no filter \(quoted(name))")
    }
  }

  private func int(_ value: Value, _ arguments: CallArguments) throws(JinjaError) -> Value {
    let values = try arguments.bound(["default", "base"], self, for: "int")
    let missing = values[0] ?? .integer(0)
    if value.isUndefined { throw wrongType(value, "int") }
    if let whole = value.wholeNumber { return .integer(whole) }
    var number: Double?
    if let text = value.text {
      guard let base = (values[1] ?? .integer(10)).wholeNumber else { throw wrongType(values[1] ?? .none, "int") }
      if let parsed = PythonText.wholeNumber(text, base: base) {
        guard let whole = parsed else { throw .limit(at: position, .integer, maximum: 64) }
        return .integer(whole)
      }
      number = PythonText.float(text)
    } else if case .float(let float) = value {
      number = float
    }
    guard let number, number.isFinite else { return missing }
    guard let whole = Int(exactly: number.rounded(.towardZero)) else { throw .limit(at: position, .integer, maximum: 64) }
    return .integer(whole)
  }

  private func round(_ value: Value, _ arguments: CallArguments) throws(JinjaError) -> Value {
    let values = try arguments.bound(["precision", "method"], self, for: "round")
    guard let precision = (values[0] ?? .integer(0)).wholeNumber else { throw wrongType(values[0] ?? .none, "round") }
    guard let method = (values[1] ?? .string("common")).text, ["common", "ceil", "floor"].contains(method) else {
      throw invalid("'round' rounds 'common', 'ceil' or 'floor'")
    }
    guard let number = value.number else { throw wrongType(value, "round") }
    guard (0...22).contains(precision) else { throw unsupported("rounding to this many digits") }
    let scale = pow(10, Double(precision))
    if method != "common" {
      let scaled = value.wholeNumber == nil ? number * scale : number * scale
      guard scaled.isFinite else { throw invalid("'round' takes finite numbers only") }
      return .float((method == "ceil" ? scaled.rounded(.up) : scaled.rounded(.down)) / scale)
    }
    if let whole = value.wholeNumber { return .integer(whole) }
    let scaled = number * scale
    guard scaled.magnitude < 0x1p52 else { return .float(number) }
    // What the product lost decides between two neighbours that are equally far.
    let lost = fma(number, scale, -scaled)
    let below = scaled.rounded(.down)
    let rest = scaled - below
    let isUp = rest > 0.5 || rest == 0.5 && (lost > 0 || lost == 0 && fmod(below, 2) != 0)
    let rounded = (isUp ? below + 1 : below) / scale
    return .float(rounded == 0 ? (number.sign == .minus ? -0.0 : 0.0) : rounded)
  }

  /// Returns the key by which an element is sorted: texts without case, unless case counts; several attributes make a list.
  private func sortKey(_ element: Value, _ attribute: Value, _ isCaseSensitive: Bool) throws(JinjaError) -> Value {
    try charge()
    let key = try follow(attribute, element)
    guard !isCaseSensitive, let text = key.text else { return key }
    try charge(bytes: text.utf8.count)
    return .string(PythonText.lower(text))
  }

  private func sorted(_ value: Value, _ attribute: Value, _ isCaseSensitive: Bool, _ isReversed: Bool) throws(JinjaError) -> [Value] {
    let paths = attribute.text.map { PythonText.split($0, separator: ",", limit: -1).map(Value.string) } ?? [attribute]
    var pairs: [(key: Value, value: Value)] = []
    for element in try iterate(value) {
      var keys: [Value] = []
      for path in paths { keys.append(try sortKey(element, path, isCaseSensitive)) }
      pairs.append((keys.count == 1 ? keys[0] : try list(keys), element))
    }
    // A merge sort, because comparing may fail.
    var width = 1
    while width < pairs.count {
      var merged: [(key: Value, value: Value)] = []
      merged.reserveCapacity(pairs.count)
      for start in stride(from: 0, to: pairs.count, by: 2 * width) {
        var (left, right) = (start, min(start + width, pairs.count))
        let (middle, end) = (right, min(start + 2 * width, pairs.count))
        while left < middle, right < end {
          let takesRight = isReversed ? try isLess(pairs[left].key, pairs[right].key) : try isLess(pairs[right].key, pairs[left].key)
          merged.append(pairs[takesRight ? right : left])
          if takesRight { right += 1 } else { left += 1 }
        }
        merged += pairs[left..<middle] + pairs[right..<end]
      }
      pairs = merged
      width *= 2
    }
    return pairs.map(\.value)
  }
}
