internal import DibitTensor
internal import Glibc
internal import Synchronization

private let fileCount = Atomic<Int>(0)

/// An output file that appears under its name only when it is whole and on the disk.
///
/// Write the file at ``path``, which does not exist yet, then ``commit()``. One that is dropped earlier is removed. Where an earlier output
/// is replaced, other processes see the old contents or the new ones. A link, a device or a file of someone else is not replaced.
package struct StagedFile: ~Copyable {
  /// The final path.
  package let destination: String
  /// The path at which to write until ``commit()``.
  package let path: String
  private let parent: String
  private let replaces: Bool

  /// Chooses a hidden name beside the destination.
  ///
  /// - Parameters:
  ///   - destination: The final path.
  ///   - mark: What an existing file must bear to be replaced; nil where none may be.
  ///   - inputs: What the job reads.
  /// - Throws: ``FileError`` when `destination` exists and may not be replaced, or would destroy an input.
  package init(destination: String, replacing mark: OutputMark?, inputs: JobInputs) throws(FileError) {
    guard let (parent, name) = splitOutput(destination) else { throw .badOutputName(path: destination) }
    try inputs.check(output: destination)
    if let status = FileStatus(path: destination, followingLinks: false) {
      guard let mark else { throw .outputExists(path: destination) }
      guard status.type == .regular else { throw .notReplaceable(path: destination, .type(status.type)) }
      try mark.check(destination)
    }
    let serial = fileCount.wrappingAdd(1, ordering: .relaxed).newValue
    path = join(parent, ".\(name).partial-\(getpid())-\(serial)")
    self.destination = destination
    self.parent = parent
    replaces = mark != nil
    // What a killed process with this number left behind.
    removeTree(path)
    PartialOutputs.add(path)
  }

  deinit { PartialOutputs.discard(path) }

  /// Waits until the file is on the disk and gives it its final name. When this throws, the destination is as it was.
  package consuming func commit() throws(FileError) {
    try FileDescriptor.open(reading: path).sync()
    // link() fails when the name is taken meanwhile; rename() replaces in one step.
    let code = replaces ? SystemCall.rename(path, destination) : SystemCall.link(path, destination)
    guard code == 0 else {
      throw code == EEXIST ? .outputExists(path: destination) : .system(operation: "rename", path: destination, code: code)
    }
    try Replacement.syncDirectory(parent)
  }
}

/// Writes a small file by way of a ``StagedFile``.
///
/// - Throws: ``FileError`` when `path` exists and may not be replaced, cannot be created, or the disk is full; the
///   destination is then as it was.
package func writeFileAtomically(path: String, bytes: [UInt8], replacing mark: OutputMark? = nil, inputs: JobInputs)
  throws(FileError)
{
  let staged = try StagedFile(destination: path, replacing: mark, inputs: inputs)
  guard let file = FileDescriptor.open(staged.path, flags: O_WRONLY | O_CREAT | O_EXCL) else { throw creationError(path, errno) }
  try file.write(bytes.span)
  try staged.commit()
}
