internal import DibitCheckpoint

/// Prints a part of a command's result on standard output.
///
/// It hides Swift's function of this name, which drops what a full disk or a closed stream does not take: here the command ends, with one
/// line and its exit code. A reader that has gone away, such as `head`, is no fault.
func print(_ text: String = "", terminator: String = "\n") {
  do { _ = try StandardOutput.write(Array((text + terminator).utf8)) } catch {
    cleanUpPartialDirectories()
    Failure(.inputOutput, "\(error)").exit()
  }
}
