internal import DibitFailure
internal import DibitJSON
internal import DibitTensor
internal import Glibc

/// An output directory that appears under its name only when it is whole.
///
/// Files are written into a hidden directory beside the destination; ``commit()`` flushes them and renames that directory. One
/// that is dropped earlier is removed with its files. What a killed process left behind is removed by the next job with the same
/// destination; a lock on the directory tells it from the work of a live one.
package struct StagedDirectory: ~Copyable {
  /// The file that every directory of ours holds, with a `format` that begins with "dibit-".
  package static let manifestName = "manifest.json"
  private static let largestManifest = 64 << 20

  /// The final path.
  package let destination: String
  /// The directory to write into until ``commit()``.
  package let partialPath: String
  private let mark: DirectoryMark?
  private let lock: FileDescriptor
  private var isCommitted = false

  /// Creates the hidden directory.
  ///
  /// - Parameters:
  ///   - destination: The final path.
  ///   - mark: What an existing directory must bear to be replaced; nil where none may be.
  ///   - inputs: What the job reads.
  /// - Throws: ``FileError`` when `destination` exists and may not or should not be replaced, when it would destroy one of `inputs`,
  ///   when the directory around it does not exist or cannot be written, and when this process is writing the same output already.
  package init(destination: String, replacing mark: DirectoryMark? = nil, inputs: JobInputs) throws(FileError) {
    guard let (parent, name) = splitOutput(destination) else { throw .badOutputName(path: destination) }
    try inputs.check(output: destination)
    // As it was given: messages name it.
    let path = outputPath(destination)
    try Self.check(path, replacing: mark)
    let prefix = ".\(name).partial-"
    Self.removeLeftovers(in: parent, prefix: prefix)
    let partialPath = join(parent, prefix + String(getpid()))
    guard !PartialOutputs.contains(partialPath) else { throw .outputInUse(path: path, partial: partialPath) }
    // Before it is there: memory may end right behind.
    PartialOutputs.add(partialPath)
    do throws(FileError) { lock = try Self.create(partialPath, destination: path) } catch {
      PartialOutputs.remove(partialPath)
      throw error
    }
    self.destination = path
    self.mark = mark
    self.partialPath = partialPath
  }

  deinit {
    guard !isCommitted else { return }
    PartialOutputs.discard(partialPath)
  }

  /// Returns the path at which to write a file of this output; `file` is a plain name.
  package func path(of file: String) -> String {
    require(isPlainFileName(file), "StagedDirectory: \(quoted(file)) is not a plain file name")
    return join(partialPath, file)
  }

  /// Writes a file of this output; one that exists there already is an error.
  package func write(_ bytes: [UInt8], to file: String) throws(FileError) {
    try createFile(path(of: file)).write(bytes.span)
  }

  /// Writes a text file of this output as UTF-8.
  package func write(_ text: String, to file: String) throws(FileError) { try write(Array(text.utf8), to: file) }

  /// Waits until everything is on the disk and gives the directory its final name.
  ///
  /// Other processes see the old directory or the new one, never a mixture. When this throws, the destination is as it was and the
  /// hidden directory is removed; only when the last step fails, flushing the directory around both, is the new one in place.
  package consuming func commit() throws(FileError) {
    try Replacement.syncTree(partialPath)
    try Self.check(destination, replacing: mark)
    if FileStatus(path: destination, followingLinks: false) == nil {
      try Replacement.rename(partialPath, to: destination)
    } else {
      try Replacement.replace(destination, with: partialPath)
    }
    isCommitted = true
    PartialOutputs.remove(partialPath)
    if let parent = splitOutput(destination)?.parent { try Replacement.syncDirectory(parent) }
  }

  /// Checks that the destination is free, or may be replaced: a directory that bears the mark and holds nothing else, or an empty one.
  private static func check(_ destination: String, replacing mark: DirectoryMark?) throws(FileError) {
    guard let status = FileStatus(path: destination, followingLinks: false) else { return }
    guard let mark else { throw .outputExists(path: destination) }
    guard status.type == .directory else { throw .notReplaceable(path: destination, .type(status.type)) }
    let names = try directoryNames(destination)
    if names.isEmpty { return }
    guard names.contains(manifestName) else { throw .notReplaceable(path: destination, .noManifest) }
    guard let format = format(join(destination, manifestName)) else { throw .notReplaceable(path: destination, .foreignManifest) }
    guard format == mark.format else { throw .notReplaceable(path: destination, .otherFormat(found: format, expected: mark.format)) }
    // No output of ours has directories in it.
    if let foreignEntry = names.first(where: {
      !mark.files.contains($0) || FileStatus(path: join(destination, $0), followingLinks: false)?.type == .directory
    }) {
      throw .notReplaceable(path: destination, .foreignEntry(foreignEntry))
    }
  }

  /// The `format` of a manifest that Dibit wrote; nil for any other.
  private static func format(_ manifest: String) -> String? {
    guard let json = try? JSONValue(parsing: readFile(manifest, limit: largestManifest)) else { return nil }
    return json["format"]?.string.flatMap { $0.hasPrefix("dibit-") ? $0 : nil }
  }

  /// Creates and locks a directory.
  private static func create(_ path: String, destination: String) throws(FileError) -> FileDescriptor {
    // A job that sweeps leftovers may take the directory between its creation and its lock: then create it again.
    for _ in 0..<100 {
      let code = SystemCall.makeDirectory(path)
      guard code != EEXIST else { throw .outputInUse(path: destination, partial: path) }
      guard code == 0 else { throw creationError(destination, code) }
      guard let lock = FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY), lock.lock() else { continue }
      if let found = FileStatus(path: path, followingLinks: false), found.isSameFile(as: try lock.status()) { return lock }
    }
    throw .outputInUse(path: destination, partial: path)
  }

  /// Removes the hidden directories of this destination whose jobs are no more.
  private static func removeLeftovers(in parent: String, prefix: String) {
    for name in (try? directoryNames(parent)) ?? [] where name.hasPrefix(prefix) {
      let path = join(parent, name)
      guard name.dropFirst(prefix.count).allSatisfy(\.isNumber), FileStatus(path: path, followingLinks: false)?.type == .directory,
        let lock = FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY), lock.lock()
      else { continue }
      removeTree(path)
      _ = consume lock
    }
  }
}
