internal import ArgumentParser
internal import DibitJSON

/// The arguments of a command, as the argument parser describes them: for suggestions, completions and the manual.
struct CommandDescription {
  /// A flag, an option or a value by its position.
  struct Argument {
    /// With their dashes; none for a value by its position.
    let names: [String]
    /// The word that stands for its value; nil for a flag.
    let value: String?
    let abstract: String
    let defaultValue: String?
    let isOptional: Bool
    let isRepeating: Bool
    /// True where the next word is its value even if that begins with a dash.
    let takesAnyWord: Bool
    /// True where help shows it.
    let isShown: Bool
  }

  let name: String
  let abstract: String
  let discussion: String
  let arguments: [Argument]
  let subcommands: [CommandDescription]
  /// True where help lists it.
  let isShown: Bool

  /// The whole of `dibit`.
  static func tool() -> CommandDescription? {
    // The parser's own description of a command, which `--experimental-dump-help` prints.
    guard let json = try? JSONValue(parsing: Array(CommandLineTool._dumpHelp().utf8)) else { return nil }
    return json["command"].map(CommandDescription.init)
  }

  private init(_ json: JSONValue) {
    name = json["commandName"]?.string ?? ""
    abstract = json["abstract"]?.string ?? ""
    discussion = json["discussion"]?.string ?? ""
    arguments = json["arguments"]?.array?.map(Argument.init) ?? []
    subcommands = json["subcommands"]?.array?.map(CommandDescription.init) ?? []
    isShown = json["shouldDisplay"]?.bool != false
  }

  /// The subcommand of a name.
  func subcommand(_ name: String) -> CommandDescription? { subcommands.first { $0.name == name } }

  /// The argument that a word such as `--output` or `-o` names.
  func argument(_ word: String) -> Argument? { arguments.first { $0.names.contains(word) } }
}

extension CommandDescription.Argument {
  fileprivate init(_ json: JSONValue) {
    names = (json["names"]?.array ?? []).map { name in
      (name["kind"]?.string == "long" ? "--" : "-") + (name["name"]?.string ?? "")
    }
    value = json["kind"]?.string == "flag" ? nil : json["valueName"]?.string
    abstract = json["abstract"]?.string ?? ""
    defaultValue = json["defaultValue"]?.string
    isOptional = json["isOptional"]?.bool ?? true
    isRepeating = json["isRepeating"]?.bool ?? false
    takesAnyWord = json["parsingStrategy"]?.string == "unconditional"
    isShown = json["shouldDisplay"]?.bool != false
  }
}
