internal import DibitFailure
internal import DibitJSON
package import DibitTraining

extension RunIdentity.Difference {
  /// The failure to go on behind what another job wrote into `output`.
  package func failure(of output: String) -> DibitError {
    let advice = "give the same to go on, or pass \(optionName("overwrite")) instead of \(optionName("resume")) to begin anew"
    return DibitError(.invalidData, "'\(output)' was begun \(difference): \(advice)")
  }

  private var difference: String {
    switch self {
    case .model: return "with another model"
    case .data: return "with other data"
    case .option("adapter", let was, let found): return "with another adapter (\(Self.digest(was)), not \(Self.digest(found)))"
    case .option("labels", _, _): return "with other labels"
    case .option("task", _, _): return "with another prompt"
    case .option("scores", let was, _): return (was == "true" ? "with " : "without ") + optionName("scores")
    case .option(let key, let was, let found):
      guard Self.isSet(was) else { return "without \(Self.name(key)), not with \(Self.plain(found))" }
      return "with \(Self.name(key)) \(Self.plain(was))" + (Self.isSet(found) ? ", not \(Self.plain(found))" : "")
    }
  }

  /// The name of the option with this key: "topP" for "top-p".
  private static func name(_ key: String) -> String {
    let words = key.split(separator: "-")
    return optionName(words.prefix(1).joined() + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined())
  }

  private static func isSet(_ value: String) -> Bool { value != "null" && value != RunIdentity.notSet }

  /// A value without the quotes of JSON, and with those of a message where it needs some.
  private static func plain(_ value: String) -> String {
    guard let text = (try? JSONValue(parsing: value))?.string else { return value }
    return text.allSatisfy { $0.isLetter || $0.isNumber } ? text : quoted(text)
  }

  private static func digest(_ value: String) -> String { String(plain(value).prefix(12)) }
}
