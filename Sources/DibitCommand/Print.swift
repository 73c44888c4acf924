internal import DibitCheckpoint
internal import DibitModelStore

/// Prints a part of a command's result on standard output, after the weights that it comes from were found to be whole.
///
/// It hides Swift's function of this name, which drops what a full disk or a closed stream does not take: here the command ends, with one
/// line and its exit code. A reader that has gone away, such as `head`, is no fault.
func print(_ text: String = "", terminator: String = "\n") {
  do {
    try WeightsCheck.finishAll()
    _ = try StandardOutput.write(Array((text + terminator).utf8))
  } catch {
    cleanUpPartialDirectories()
    (Failure(error) ?? Failure(.inputOutput, "\(error)")).exit()
  }
}
