internal import ArgumentParser
internal import Dibit
internal import DibitFiles
internal import DibitTraining

/// The directory where commands of several trainings or runs keep what is done.
struct KeepArguments: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("Keep what is done there, one file for each training or run; otherwise nothing is kept.", valueName: "folder"))
  var output: String?

  @Flag(help: "Go on behind what is kept.") var resume = false

  @Flag(help: "Do again what is kept, and replace files that exist.") var overwrite = false

  func validate() throws {
    guard output != nil || !resume else { throw ValidationError("--resume: needs the --output of the job that was stopped") }
    guard !resume || !overwrite else { throw ValidationError("--resume and --overwrite: expected one of them, found both") }
  }

  /// The parts of a job that are done, in the folder that was named. `names` are those of all parts.
  func parts(_ inputs: JobInputs, identity: RunIdentity, names: [String], of part: CompletedParts.Part) throws -> CompletedParts {
    // A training takes its time.
    if output == nil, part == .training {
      Terminal.note("nothing is kept of a job that is stopped; --output FOLDER keeps every finished training")
    }
    return try CompletedParts(
      in: output, resumes: resume, overwrites: overwrite, inputs: inputs, identity: identity, names: names, of: part,
      note: Terminal.note, check: { try OpenedModels.waitForChecks() })
  }
}
