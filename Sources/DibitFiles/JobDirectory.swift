internal import Glibc

/// A directory beside an output, in which a long job keeps what it needs to go on after it was stopped.
///
/// One process at a time may hold it: a lock tells the work of a live job from what a killed one left behind. What the killed one was
/// writing is removed. A directory that was made here and holds nothing that ``keep()`` was called for is removed with its owner.
package struct JobDirectory: ~Copyable {
  /// Its path: that of the output with `.checkpoints` behind it.
  package let path: String
  private let lock: FileDescriptor
  private var isKept: Bool

  /// The path of the directory that belongs to `output`.
  ///
  /// - Throws: ``FileError/badOutputName(path:)``.
  package static func path(of output: String) throws(FileError) -> String {
    guard splitOutput(output) != nil else { throw .badOutputName(path: output) }
    return outputPath(output) + ".checkpoints"
  }

  /// Opens the directory of `output`, or creates it, and locks it.
  ///
  /// - Throws: ``FileError`` when it would destroy one of `inputs`, cannot be created, is no directory, cannot be written, or another
  ///   process holds it.
  package init(of output: String, inputs: JobInputs) throws(FileError) {
    let path = try Self.path(of: output)
    try inputs.check(output: path)
    let code = SystemCall.makeDirectory(path)
    guard code == 0 || code == EEXIST else { throw creationError(path, code) }
    lock = try Self.lock(path, output)
    self.path = path
    isKept = code == EEXIST
  }

  private static func lock(_ path: String, _ output: String) throws(FileError) -> FileDescriptor {
    if let status = FileStatus(path: path, followingLinks: false), status.type != .directory {
      throw .notReplaceable(path: path, .type(status.type))
    }
    guard let lock = FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW) else {
      throw .notReadable(path: path, code: errno)
    }
    guard lock.lock() else { throw .outputInUse(path: output, partial: path) }
    for name in try directoryNames(path) where name.hasPrefix(".") && name.contains(".partial-") { removeTree(join(path, name)) }
    if let parent = splitOutput(path)?.parent { try Replacement.syncDirectory(parent) }
    return lock
  }

  deinit {
    if !isKept { removeTree(path) }
    lock.unlock()
  }

  /// The path of a file in it; `name` is a plain name.
  package func path(of name: String) -> String { join(path, name) }

  /// The names in it, sorted by their bytes.
  package func names() throws(FileError) -> [String] { try directoryNames(path) }

  /// Removes a file in it, or a directory with all that it holds, if it is there.
  package func remove(_ name: String) { removeTree(join(path, name)) }

  /// From now on the directory stays until ``removeAll()``.
  package mutating func keep() { isKept = true }

  /// Removes the directory with everything in it: the job is done.
  package mutating func removeAll() {
    removeTree(path)
    isKept = true
  }
}
