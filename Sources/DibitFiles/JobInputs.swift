internal import Glibc

/// The inputs of a job, which no output of it may destroy.
///
/// Whatever creates an output in this module asks for these, so that no command can forget them: an output that is an input, lies in one
/// or holds one is refused before anything is opened for writing or removed. Files and directories are told apart by device and inode,
/// so links, `..` and other spellings hide nothing.
package struct JobInputs: Equatable, Sendable {
  /// Files, and directories in which nothing may appear.
  private let sealed: [String]
  /// Directories that are looked through for files of their own kind.
  private let searched: [String]

  /// For a job that reads nothing that an output could destroy, or whose outputs were checked where the job began.
  package static let none = JobInputs([])

  /// The inputs of a job; those that are nil are none.
  ///
  /// - Parameter searched: directories in which the job looks for files and leaves out its own output: one may lie there.
  package init(_ paths: [String?], searched: [String] = []) {
    sealed = paths.compactMap(\.self)
    self.searched = searched
  }

  /// The same inputs and more.
  package func adding(_ paths: [String?]) -> JobInputs { JobInputs(sealed + paths.compactMap(\.self), searched: searched) }

  /// Checks a file or directory that appears, or is replaced, as a whole.
  ///
  /// - Throws: ``FileError/outputOverInput(path:input:relation:)``.
  package func check(output path: String) throws(FileError) {
    let output = ResolvedPath(path)
    try check(path, output, holdsAll: true)
    // What a shell put in front of the job with `<`.
    if let input = FileStatus(descriptor: STDIN_FILENO), input.type == .regular, output.own?.isSameFile(as: input) ?? false {
      throw .outputOverInput(path: path, input: "standard input", relation: .same)
    }
  }

  /// Checks a directory into which new files are put beside those that are there.
  ///
  /// - Throws: ``FileError/outputOverInput(path:input:relation:)``.
  package func check(folder path: String) throws(FileError) { try check(path, ResolvedPath(path), holdsAll: false) }

  private func check(_ path: String, _ output: ResolvedPath, holdsAll: Bool) throws(FileError) {
    for (input, isSealed) in sealed.map({ ($0, true) }) + searched.map({ ($0, false) }) {
      let resolved = ResolvedPath(input)
      guard let own = resolved.own else {
        // Another output of the job, which is not there yet either.
        if output.own == nil, resolved.isSameOutput(output) { throw .outputOverInput(path: path, input: input, relation: .same) }
        continue
      }
      if let file = output.own, file.isSameFile(as: own) { throw .outputOverInput(path: path, input: input, relation: .same) }
      if isSealed, output.ancestors.contains(where: { own.isSameFile(as: $0) }) {
        throw .outputOverInput(path: path, input: input, relation: .inside)
      }
      if holdsAll, let directory = output.own, resolved.ancestors.contains(where: { directory.isSameFile(as: $0) }) {
        throw .outputOverInput(path: path, input: input, relation: .around)
      }
    }
  }
}

/// The relation to an input of an output that must not be written.
package enum OutputRelation: Equatable, Sendable {
  /// It is the input.
  case same
  /// It lies in the input.
  case inside
  /// It holds the input.
  case around
}

/// A path as the file system has it: what lies there, and every directory around it up to the root.
private struct ResolvedPath {
  /// Nil where there is nothing yet.
  let own: FileStatus?
  private let name: String?
  let ancestors: [FileStatus]

  init(_ path: String) {
    own = FileStatus(path: path, followingLinks: true)
    name = splitOutput(path)?.name
    // Of what is not there yet, the directory that it is to appear in counts.
    var directory: String?
    if own != nil {
      directory = realPath(path).flatMap { splitOutput($0)?.parent }
    } else {
      directory = splitOutput(path).flatMap { realPath($0.parent) }
    }
    var ancestors: [FileStatus] = []
    while let path = directory {
      if let status = FileStatus(path: path, followingLinks: true) { ancestors.append(status) }
      directory = splitOutput(path)?.parent
    }
    self.ancestors = ancestors
  }

  /// Checks that both are to appear under one name.
  func isSameOutput(_ other: ResolvedPath) -> Bool {
    guard let name, name == other.name, let directory = ancestors.first, let another = other.ancestors.first else { return false }
    return directory.isSameFile(as: another)
  }
}
