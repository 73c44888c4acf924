internal import DibitFailure
package import DibitFiles
package import DibitTraining

/// A file that grows row by row while a job runs, with what it was begun with beside it: a job that was stopped goes on behind its rows.
package struct ResumableFile: ~Copyable {
  /// Its path.
  package let path: String
  /// True where an earlier job's rows are to be gone on behind.
  package let isResumed: Bool
  private let inputs: JobInputs
  private let identity: RunIdentity
  private var file: JournalFile?
  private var begun: IdentityFile?

  /// Looks at the file, and locks one that exists; nothing is created, written or cut before ``begin(behind:)``.
  ///
  /// - Parameters:
  ///   - job: The command that writes such files; nil for one that has an end, behind which no job can go on.
  ///   - mark: The mark that a file must bear to be replaced.
  /// - Throws: when the file exists and is neither to be gone on with nor replaced, is an input, or another job has it.
  package init(
    at path: String, of job: String?, mark: OutputMark, resumes: Bool, overwrites: Bool, inputs: JobInputs, identity: RunIdentity
  ) throws {
    let isThere = Self.exists(path)
    (self.path, self.inputs, self.identity, isResumed) = (path, inputs, identity, isThere && resumes)
    try inputs.check(output: path)
    if isThere {
      guard resumes || overwrites else {
        let advice =
          job == nil
          ? "pass \(optionName("overwrite")) to replace it"
          : "pass \(optionName("resume")) to go on, or \(optionName("overwrite")) to begin anew"
        throw DibitError(.cannotCreate, "'\(path)': the output exists already; \(advice)")
      }
      let file = try JournalFile(path: path, inputs: inputs)
      if overwrites { try file.check(mark) }
      self.file = consume file
    }
    // Behind the lock: nobody else writes it now.
    if let job { begun = try IdentityFile(of: path, job: job, inputs: inputs) }
  }

  /// Checks that rows which are there were made as this job makes them.
  ///
  /// - Parameter things: The things that they depend on, for people.
  /// - Returns: A note where nobody can tell.
  package func checkIdentity(_ things: String) throws -> String? {
    guard let earlier = begun?.identity else {
      return "'\(path)' has no file that says what it was begun with: \(things) are taken to be the same"
    }
    if let difference = identity.difference(from: earlier) { throw difference.failure(of: path) }
    return nil
  }

  /// Opens the file for rows behind the first `byteCount` bytes, which stay; others go.
  package mutating func begin(behind byteCount: Int) throws {
    if file == nil {
      let created = try JournalFile(path: path, inputs: inputs)
      // Another job made it since this one looked.
      guard created.byteCount == 0 else { throw FileError.outputExists(path: path) }
      file = consume created
    }
    if (file?.byteCount ?? 0) > byteCount {
      try file?.cut(after: byteCount)
      // Rows of another job must not come back beside what is said of this one.
      try file?.sync()
    }
    // Before the first row: what rows there are belong to what is said of them, whenever the job ends.
    try begun?.write(identity)
  }

  /// Adds rows in one call: whatever ends the job, at most the last of them is torn.
  package mutating func append(_ bytes: Span<UInt8>) throws { try file?.append(bytes) }

  /// Waits until everything is on the disk.
  package func sync() throws { try file?.sync() }

  /// True where something lies there, readable or not.
  private static func exists(_ path: String) -> Bool {
    do throws(FileError) { _ = try SequentialFile(path) } catch {
      if case .notFound = error { return false }
    }
    return true
  }
}
