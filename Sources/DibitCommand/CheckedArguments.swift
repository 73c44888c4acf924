internal import DibitFiles

/// The arguments of the process as the argument parser gets them.
enum CheckedArguments {
  /// All but the name of the program.
  ///
  /// - Throws: where one is not UTF-8: Swift has put other characters there, and what was meant is lost.
  static func ofProcess() throws -> [String] {
    let bytes = ArgumentBytes.all
    for (index, argument) in bytes.enumerated().dropFirst() {
      guard let offset = UTF8Text.fault(in: argument) else { continue }
      throw Failure(.usage, fault(bytes, index, offset))
    }
    return joiningNegativeNumbers(Array(CommandLine.arguments.dropFirst()))
  }

  /// Describes the fault of an argument, by the name of the option whose value it is.
  private static func fault(_ bytes: [[UInt8]], _ index: Int, _ offset: Int) -> String {
    let (argument, before) = (bytes[index], String(decoding: bytes[index - 1], as: UTF8.self))
    if argument.starts(with: "--".utf8), let end = argument.prefix(offset).firstIndex(of: UInt8(ascii: "=")) {
      let value = Array(argument[(end + 1)...])
      return "\(String(decoding: argument[..<end], as: UTF8.self)): \(UTF8Text.message(value, offset - end - 1))"
    }
    return "\(index > 1 && before.hasPrefix("--") ? before : "argument \(index)"): \(UTF8Text.message(argument, offset))"
  }

  /// The arguments, with negative numbers and sizes behind an option made its value: "--temperature -1" as "--temperature=-1". The argument parser takes
  /// what begins with a dash for an option of its own, and says that the value is missing.
  static func joiningNegativeNumbers(_ arguments: [String]) -> [String] {
    // Described only where there is such a number: that takes time.
    lazy var command = CommandDescription.tool()?.subcommands.first { $0.name == arguments.first }
    var joined: [String] = []
    for (index, argument) in arguments.enumerated() {
      if let last = joined.last, last == "--" { return joined + arguments[index...] }
      if let last = joined.last, last.hasPrefix("--"), !last.contains("="), isNegative(argument),
        command?.argument(last)?.value != nil
      {
        joined[joined.count - 1] = last + "=" + argument
      } else {
        joined.append(argument)
      }
    }
    return joined
  }

  /// Checks whether it begins as a negative number does, like "-5G"; no option begins so.
  private static func isNegative(_ argument: String) -> Bool {
    guard argument.first == "-" else { return false }
    return Double(argument) != nil || argument.dropFirst().first.map { $0.isASCII && $0.isNumber } ?? false
  }
}
