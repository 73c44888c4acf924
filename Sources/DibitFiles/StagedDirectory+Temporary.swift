internal import Glibc

extension StagedDirectory {
  /// A directory in the system's folder for temporary files that is never committed: it lives as long as this value.
  ///
  /// The folder is that of `TMPDIR`, else `/tmp`. `name` tells jobs of different kinds apart. What a killed process left behind is removed by the next one of the same kind.
  package init(temporary name: String) throws(FileError) {
    // SAFETY: the string is copied before anything can change the environment.
    let named = unsafe getenv("TMPDIR").flatMap { unsafe String(validatingCString: $0) } ?? ""
    if !named.isEmpty, !isDirectory(named) { throw .noTemporaryFolder(path: named) }
    try self.init(destination: join(named.isEmpty ? "/tmp" : named, name), inputs: .none)
  }
}
