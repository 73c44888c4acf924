internal import ArgumentParser

struct ManualCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manual",
    abstract: "Print the manual page, for man.",
    discussion: "Example: dibit manual > dibit.1")

  func run() throws {
    guard let tool = CommandDescription.tool() else { throw Failure(.internalError, "the argument parser does not describe the commands") }
    Output.print(ManualPage(tool).text, terminator: "")
  }
}

/// The manual page of `dibit`, all commands on it, in the language of man(7).
struct ManualPage {
  private let tool: CommandDescription

  init(_ tool: CommandDescription) { self.tool = tool }

  var text: String {
    let commands = tool.subcommands.filter { $0.isShown && $0.name != "help" }
    var lines = [".TH DIBIT 1 \"\" \"dibit \(Version.number)\"", ".SH NAME", "dibit \\- \(Self.escaped(tool.abstract))", ".SH SYNOPSIS"]
    for command in commands { lines += [".B \(Self.escaped("dibit \(command.name)"))", Self.escaped(Self.synopsis(command)), ".br"] }
    lines += [".SH DESCRIPTION"] + Self.paragraphs(tool.discussion)
    for command in commands {
      lines += [".SH \(Self.escaped("dibit \(command.name)").uppercased())", Self.escaped(command.abstract)]
      lines += Self.paragraphs(command.discussion)
      for argument in command.arguments where argument.isShown { lines += Self.entry(argument) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The arguments that a call needs, and that there are options.
  private static func synopsis(_ command: CommandDescription) -> String {
    let needed = command.arguments.filter { $0.isShown && (!$0.isOptional || $0.names.isEmpty) }
    return
      (["[options]"]
      + needed.map { argument in
        let value = (argument.value ?? "").uppercased() + (argument.isRepeating ? " ..." : "")
        let shown = ([argument.names.first].compactMap { $0 } + [value]).joined(separator: " ")
        return argument.isOptional ? "[\(shown)]" : shown
      }).joined(separator: " ")
  }

  private static func entry(_ argument: CommandDescription.Argument) -> [String] {
    let value = argument.value.map { argument.names.isEmpty ? $0.uppercased() : " " + $0 } ?? ""
    let preset = argument.defaultValue.map { " (default: \($0))" } ?? ""
    return [".TP", ".B " + escaped(argument.names.joined(separator: ", ") + value), escaped(argument.abstract + preset)]
  }

  /// Prose in paragraphs; examples and lines that begin with a space stay lines of their own.
  private static func paragraphs(_ text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line -> [String] in
      if line.isEmpty { return [".PP"] }
      return line.hasPrefix(" ") || line.hasPrefix("Example: ") ? [".br", escaped(String(line)), ".br"] : [escaped(String(line))]
    }
  }

  /// Backslashes, dashes that are no hyphens, and dots and quotes at the start of a line, which mean something to man.
  private static func escaped(_ text: String) -> String {
    let escaped = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
    return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
  }
}
