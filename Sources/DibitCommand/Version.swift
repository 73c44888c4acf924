internal import ArgumentParser
internal import CDibitBuild
internal import DibitKernels

/// The name and the version of this program, for people and for reports of faults.
enum Version {
  static let number = "0.1.0"

  /// The commit that it was built from, as `make build` told it; nil for other builds.
  static var commit: String? {
    let commit = dibit_build_commit()
    guard commit > 0 else { return nil }
    let digits = String(commit, radix: 16)
    return String(repeating: "0", count: max(0, 7 - digits.count)) + digits + (dibit_build_is_modified() ? ", with changes" : "")
  }

  /// Version, commit, and the instruction sets of this CPU that kernels are made for.
  static var text: String {
    "dibit \(number)\(commit.map { " (commit \($0))" } ?? "")\n"
      + "instruction sets of this CPU: \(ISA.available.map { "\($0)" }.joined(separator: ", "))"
  }
}

struct VersionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "version",
    abstract: "Print the version, the commit it was built from, and what this CPU offers.",
    discussion: "Example: dibit version")

  func run() { Output.print(Version.text) }
}
