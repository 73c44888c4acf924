internal import Glibc
internal import Synchronization

private let fileCount = Atomic<Int>(0)

/// Writes a file that appears under its name only when it is whole and on the disk.
///
/// With `overwrite`, other processes see the old contents or the new ones. A link or a device is not replaced.
///
/// - Throws: ``CheckpointError`` when `path` exists and may not be replaced, cannot be created, or the disk is full; the
///   destination is then as it was.
public func writeFileAtomically(path: String, bytes: [UInt8], overwrite: Bool = false) throws(CheckpointError) {
  guard let (parent, name) = splitOutput(path) else { throw .badOutputName(path: path) }
  if let status = FileStatus(path: path, followingLinks: false) {
    guard overwrite else { throw .outputExists(path: path) }
    guard status.type == .regular else { throw .notReplaceable(path: path, found: status.type.description) }
  }
  let serial = fileCount.wrappingAdd(1, ordering: .relaxed).newValue
  let partial = join(parent, ".\(name).partial-\(getpid())-\(serial)")
  // What a killed process with this number left behind.
  removeTree(partial)
  guard let file = FileDescriptor.open(partial, flags: O_WRONLY | O_CREAT | O_EXCL) else { throw creationError(path, errno) }
  PartialOutputs.add(partial)
  defer {
    PartialOutputs.remove(partial)
    SystemCall.unlink(partial)
  }
  try file.write(bytes.span)
  try file.sync()
  // link() fails when the name is taken meanwhile; rename() replaces in one step.
  let code = overwrite ? SystemCall.rename(partial, path) : SystemCall.link(partial, path)
  guard code == 0 else { throw code == EEXIST ? .outputExists(path: path) : .system(operation: "rename", path: path, code: code) }
  try Replacement.syncDirectory(parent)
}
