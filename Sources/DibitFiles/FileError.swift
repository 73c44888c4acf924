package import DibitFailure

/// The reasons for which a file or a directory could not be read or written. Paths are as the caller gave them.
package enum FileError: EngineError, Equatable {
  // The input is not there, or not to be read.
  case notFound(path: String)
  case notAFile(path: String, found: FileType)
  case notReadable(path: String, code: Int32)
  case emptyFile(path: String)
  case tooLarge(path: String, limit: Int, found: Int)

  // The output cannot be created.
  case outputExists(path: String)
  case badOutputName(path: String)
  case missingParent(path: String, parent: String)
  case parentNotADirectory(path: String, parent: String, found: FileType)
  case notWritable(path: String, code: Int32)
  case notReplaceable(path: String, ReplacementFault)
  case notOurs(path: String, expected: String)
  case outputOverInput(path: String, input: String, relation: OutputRelation)
  case noTemporaryFolder(path: String)
  case outputInUse(path: String, partial: String)

  // Reading or writing failed on the way, or would.
  case noSpace(directory: String, needed: Int, free: Int)
  case fileTooLarge(directory: String, needed: Int, limit: Int)
  case system(operation: String, path: String, code: Int32)

  /// The kind of failure.
  package var kind: FailureKind {
    switch self {
    case .notFound, .notAFile: .notFound
    case .notReadable: .noPermission
    case .emptyFile, .tooLarge: .badData
    case .outputExists, .badOutputName, .missingParent, .parentNotADirectory, .notWritable, .notReplaceable, .notOurs, .outputOverInput,
      .noTemporaryFolder, .outputInUse:
      .cannotCreate
    case .noSpace, .fileTooLarge, .system: .inputOutput
    }
  }

  /// One sentence: what, where, expected, found, and what to do where that is known.
  package var description: String {
    switch self {
    case .notFound(let path): "\(quoted(path)): no such file or directory"
    case .notAFile(let path, let found): "\(quoted(path)): a regular file expected, \(found) found"
    case .notReadable(let path, let code): "\(quoted(path)): cannot be read: \(systemMessage(code))"
    case .emptyFile(let path): "\(quoted(path)): the file is empty; make or download it again"
    case .tooLarge(let path, let limit, let found): "\(quoted(path)): at most \(limit) bytes expected, \(found) found"
    case .outputExists(let path): "\(quoted(path)): the output exists already; choose another name"
    case .badOutputName(let path): "\(quoted(path)): the output needs a name of its own"
    case .missingParent(let path, let parent):
      "\(quoted(finalPath(path))): its directory \(quoted(finalPath(parent))) does not exist; create it first"
    case .parentNotADirectory(let path, let parent, let found):
      "\(quoted(finalPath(path))): \(quoted(finalPath(parent))) is \(found), not a directory; choose another place"
    case .notWritable(let path, let code): "\(quoted(finalPath(path))): cannot be created: \(systemMessage(code))"
    case .notReplaceable(let path, let fault):
      "\(quoted(path)): will not be overwritten, because it is \(fault); remove it by hand or choose another name"
    case .notOurs(let path, let expected):
      "\(quoted(path)): will not be overwritten, because it is not \(expected) that dibit wrote; remove it by hand or choose another name"
    case .outputOverInput(let path, let input, .same): "\(quoted(path)): the output is the input \(quoted(input)); choose another name"
    case .outputOverInput(let path, let input, .inside):
      "\(quoted(path)): the output lies in the input \(quoted(input)); choose a place outside of it"
    case .outputOverInput(let path, let input, .around):
      "\(quoted(path)): the output would replace the input \(quoted(input)), which lies in it; choose another name"
    case .noTemporaryFolder(let path): "TMPDIR is \(quoted(path)), which is no directory: create it, or set TMPDIR to another"
    case .outputInUse(let path, let partial):
      "\(quoted(path)): another job is writing it" + (partial == path ? "" : " (in \(quoted(partial)))")
    case .noSpace(let directory, let needed, let free):
      "\(quoted(directory)): \(needed) bytes are needed there, \(free) are free; make room or choose another place"
    case .fileTooLarge(let directory, let needed, let limit):
      "\(quoted(directory)): a file of \(needed) bytes is needed there, at most \(limit) are allowed (ulimit -f)"
    case .system(let operation, let path, let code): "\(quoted(finalPath(path))): cannot \(operation): \(systemMessage(code))"
    }
  }
}

/// The faults that keep something at the path of an output from being replaced.
package enum ReplacementFault: Equatable, Sendable, CustomStringConvertible {
  /// It is of another type than the output.
  case type(FileType)
  /// A directory without a manifest.
  case noManifest
  /// A directory whose manifest Dibit did not write.
  case foreignManifest
  /// An output of another kind.
  case otherFormat(found: String, expected: String)
  /// A directory of the right kind, with something in it that Dibit does not put there.
  case foreignEntry(String)
  /// A directory of a job, with something in it that no such job puts there.
  case foreignFile(String, job: String)

  /// The thing that lies there, in words.
  package var description: String {
    switch self {
    case .type(let type): type.description
    case .noManifest: "a directory without \(StagedDirectory.manifestName), so it may not be an output of dibit"
    case .foreignManifest: "a directory whose \(StagedDirectory.manifestName) dibit did not write"
    case .otherFormat(let found, let expected): "another kind of output, \(quoted(found)) and not \(quoted(expected))"
    case .foreignEntry(let name): "a directory in which something else, \(quoted(name)), was put"
    case .foreignFile(let name, let job): "a directory with \(quoted(name)), which no \(job) writes"
    }
  }
}

/// The reasons for which something at a path cannot be read.
package enum UnreadableReason: Equatable, Sendable, CustomStringConvertible {
  /// Its permissions keep the process out.
  case noPermission
  /// It was there a moment ago.
  case vanished
  /// A link that leads nowhere.
  case brokenLink
  /// Neither a file nor a directory.
  case type(FileType)
  /// A directory names it, and nothing is there under that name.
  case unknownName
  /// Any other reason of the system.
  case system(code: Int32)
  /// It is not what it was, or not what is read.
  case file(FileError)

  /// The kind of failure.
  package var kind: FailureKind {
    switch self {
    case .noPermission: .noPermission
    case .file(let error): error.kind
    default: .inputOutput
    }
  }

  /// The reason in words.
  package var description: String {
    switch self {
    case .noPermission: "permission denied"
    case .vanished: "it no longer exists"
    case .brokenLink: "a link to nothing"
    case .type(let type): type.description
    case .unknownName: "not found under this name, which may not be UTF-8"
    case .system(let code): systemMessage(code)
    case .file(let error): error.description
    }
  }
}

extension FileError {
  /// The reason for which something that was found a moment ago cannot be read.
  package var unreadableReason: UnreadableReason {
    switch self {
    case .notFound: .vanished
    case .notReadable: .noPermission
    case .notAFile(_, let found): .type(found)
    case .system(_, _, let code): .system(code: code)
    default: .file(self)
    }
  }
}
