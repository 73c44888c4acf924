internal import DibitRecipe

/// A command or an option that does not exist, in a call that the argument parser refused.
///
/// The parser reports what it misses first, such as an option that was mistyped, and takes an unknown command for a stray value. What the
/// person typed and nothing knows is the likelier cause.
struct CommandLineMistake {
  let message: String

  /// Nil where every command and option exists.
  init?(_ arguments: [String], tool: CommandDescription) {
    guard let first = arguments.first else { return nil }
    guard !first.hasPrefix("-") else {
      guard let stray = Self.unknownOption(arguments.prefix { $0.hasPrefix("-") }, of: tool) else { return nil }
      message = Self.unknown("option", stray, among: Self.options(of: tool), help: "dibit --help")
      return
    }
    // 'dibit help COMMAND' names a command too.
    let name = first == "help" && arguments.count > 1 ? arguments[1] : first
    guard let command = tool.subcommand(name) else {
      guard name != "help", !name.hasPrefix("-") else { return nil }
      message = Self.unknown("command", name, among: tool.subcommands.filter(\.isShown).map(\.name), help: "dibit --help")
      return
    }
    guard first != "help", let stray = Self.unknownOption(arguments.dropFirst(), of: command) else { return nil }
    message = Self.unknown("option", stray, among: Self.options(of: command), help: "dibit \(name) --help")
  }

  /// The long names of what help shows.
  private static func options(of command: CommandDescription) -> [String] {
    command.arguments.filter(\.isShown).flatMap(\.names).filter { $0.hasPrefix("--") }
  }

  /// The first word that looks like an option and is none; behind `--` there are only values.
  private static func unknownOption(_ words: ArraySlice<String>, of command: CommandDescription) -> String? {
    var isValue = false
    for word in words.prefix(while: { $0 != "--" }) {
      guard !isValue else {
        isValue = false
        continue
      }
      let name = String(word.prefix { $0 != "=" })
      if let known = command.argument(name) {
        isValue = known.takesAnyWord && known.value != nil && name == word
        continue
      }
      // A dash alone is standard input; one before a number or several letters, the parser tells apart.
      if name.hasPrefix("--") ? name != "--generate-completion-script" && name != "--help-hidden" : isShort(name) { return name }
    }
    return nil
  }

  private static func isShort(_ name: String) -> Bool { name.count == 2 && name.first == "-" && name.last?.isLetter == true }

  private static func unknown(_ what: String, _ name: String, among names: [String], help: String) -> String {
    "unknown \(what) '\(name)'; " + (suggestion(for: name, among: names).map { "did you mean '\($0)'?" } ?? "see '\(help)'")
  }
}
