internal import DibitCheckpoint
internal import DibitModelStore

/// Standard output, where the results of commands go.
enum Output {
  /// Prints a part of a result, after the weights that it comes from were found to be whole.
  ///
  /// Swift's own function drops what a full disk or a closed stream does not take; here the command ends, with one line and its exit code.
  /// A reader that has gone away, such as `head`, is no fault.
  static func print(_ text: some StringProtocol, terminator: String = "\n") {
    do {
      try WeightsCheck.finishAll()
      _ = try StandardOutput.write(Array((text + terminator).utf8))
    } catch {
      cleanUpPartialDirectories()
      (Failure(error) ?? Failure(.inputOutput, "\(error)")).exit()
    }
  }

  /// Prints the end of a line.
  static func print() { print("") }
}
