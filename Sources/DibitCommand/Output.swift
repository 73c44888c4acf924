internal import DibitFiles

/// Standard output, where the results of commands go.
enum Output {
  /// Prints a part of a result: what nobody reads any more is dropped, and the command does what else it has to.
  static func print(_ text: some StringProtocol, terminator: String = "\n") { _ = write(text + terminator) }

  /// Writes a part of a result, after the weights that it comes from were found to be whole; false when nobody reads it any more, as behind
  /// `| head`: that is no fault, and work that has no other result ends.
  ///
  /// Swift's own function drops what a full disk or a closed stream does not take; here the command ends, with one line and its exit code.
  static func write(_ text: some StringProtocol) -> Bool {
    do {
      try OpenedModels.waitForChecks()
      return try StandardOutput.write(Array(text.utf8))
    } catch {
      cleanUpPartialDirectories()
      (Failure(error) ?? Failure(.inputOutput, "\(error)")).exit()
    }
  }

  /// Prints the end of a line.
  static func print() { print("") }
}
