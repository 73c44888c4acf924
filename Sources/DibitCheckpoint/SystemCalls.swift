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
}
