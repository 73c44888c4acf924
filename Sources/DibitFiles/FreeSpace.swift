internal import Glibc

/// The space that the system would still give: looked at before long work, so that a full disk is found at its beginning.
///
/// It reserves nothing. Others may fill the disk meanwhile; then writing fails as always, and the output is as it was before.
package struct FreeSpace: Sendable {
  private let ofFileSystem: @Sendable (String) -> Int?
  private let ofFile: Int

  /// That of the file systems, and the limit on the size of a file that the process has (`ulimit -f`).
  package init() {
    var limit = rlimit()
    // SAFETY: the structure is ours.
    let isKnown = unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0
    ofFile = isKnown ? Int(clamping: limit.rlim_cur) : .max
    ofFileSystem = Self.available
  }

  /// Takes the answers of a test: free bytes by directory, and the most bytes of a file.
  init(ofFileSystem: @escaping @Sendable (String) -> Int?, ofFile: Int = .max) {
    (self.ofFileSystem, self.ofFile) = (ofFileSystem, ofFile)
  }

  /// Checks that `bytes` bytes, of which `largest` belong to one file, fit beside what is at `path`, which need not exist yet.
  ///
  /// - Throws: ``FileError/noSpace(directory:needed:free:)`` or ``FileError/fileTooLarge(directory:needed:limit:)``.
  package func check(_ bytes: Int, largest: Int? = nil, at path: String) throws(FileError) {
    // Hidden directories are names that nobody chose.
    var directory = splitOutput(path)?.parent ?? "."
    while let (parent, name) = splitOutput(directory), name.hasPrefix("."), name.contains(".partial-") { directory = parent }
    let largest = largest ?? bytes
    guard largest <= ofFile else { throw .fileTooLarge(directory: directory, needed: largest, limit: ofFile) }
    guard let free = ofFileSystem(directory), free < bytes else { return }
    throw .noSpace(directory: directory, needed: bytes, free: free)
  }

  /// Bytes that a user without privileges may still write; nil where the system does not say, or a file system has no size of its own.
  private static func available(_ directory: String) -> Int? {
    var status = statvfs()
    // SAFETY: the structure is ours, and Swift passes a terminated copy of the path.
    guard unsafe statvfs(directory, &status) == 0, status.f_blocks > 0 else { return nil }
    return Int(clamping: status.f_bavail.multipliedReportingOverflow(by: status.f_frsize).partialValue)
  }
}
