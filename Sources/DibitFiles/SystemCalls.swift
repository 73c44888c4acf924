internal import Glibc

/// System calls over paths; each returns zero or an error number.
///
/// SAFETY, for all: Swift passes a terminated copy of the path that lives until the call returns.
enum SystemCall {
  static func rename(_ old: String, _ new: String) -> Int32 { unsafe Glibc.rename(old, new) == 0 ? 0 : errno }

  /// Gives a file a second name; unlike `rename`, it fails when the name is taken.
  static func link(_ old: String, _ new: String) -> Int32 { unsafe Glibc.link(old, new) == 0 ? 0 : errno }

  @discardableResult
  static func unlink(_ path: String) -> Int32 { unsafe Glibc.unlink(path) == 0 ? 0 : errno }

  static func makeDirectory(_ path: String) -> Int32 { unsafe Glibc.mkdir(path, 0o777) == 0 ? 0 : errno }

  @discardableResult
  static func removeDirectory(_ path: String) -> Int32 { unsafe Glibc.rmdir(path) == 0 ? 0 : errno }

  /// Exchanges two names in one step.
  static func exchange(_ first: String, _ second: String) -> Int32 {
    typealias Function = @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
    // Swift's Glibc module leaves renameat2 out, so it is looked up by name. Its flag RENAME_EXCHANGE is 2.
    guard let symbol = unsafe dlsym(nil, "renameat2") else { return ENOSYS }
    // SAFETY: this is the signature of renameat2(2).
    let function = unsafe unsafeBitCast(symbol, to: Function.self)
    return unsafe function(AT_FDCWD, first, AT_FDCWD, second, 2) == 0 ? 0 : errno
  }

  /// Starts to write a file's collected pages to the disk. Only advice: failures of the disk come back from `fsync`.
  static func startWriteBack(_ file: Int32) {
    typealias Function = @convention(c) (Int32, Int64, Int64, UInt32) -> Int32
    // Left out of Swift's Glibc module too. The flag SYNC_FILE_RANGE_WRITE is 2; no length means to the end.
    guard let symbol = unsafe dlsym(nil, "sync_file_range") else { return }
    // SAFETY: this is the signature of sync_file_range(2).
    let function = unsafe unsafeBitCast(symbol, to: Function.self)
    _ = function(file, 0, 0, 2)
  }
}
