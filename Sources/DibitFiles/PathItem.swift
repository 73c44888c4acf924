internal import Glibc

/// The item at a path, for whoever looks through directories.
package enum PathItem: Equatable, Sendable {
  /// A regular file or a link to one.
  case file(bytes: Int)
  /// A directory.
  case folder
  /// A link to a directory.
  case linkToFolder
  /// Anything without readable bytes: a broken link, a device, a pipe.
  case other(UnreadableReason)
  /// Something that may not be looked at.
  case unreachable(UnreadableReason)
  /// Nothing, or a name that is not UTF-8.
  case missing

  /// Looks at a path.
  package init(_ path: String) {
    guard let own = FileStatus(path: path, followingLinks: false) else {
      self = errno == EACCES || errno == EPERM ? .unreachable(.noPermission) : .missing
      return
    }
    guard let status = own.type == .symbolicLink ? FileStatus(path: path, followingLinks: true) : own else {
      self = .other(.brokenLink)
      return
    }
    switch status.type {
    case .regular: self = .file(bytes: status.size)
    case .directory: self = own.type == .symbolicLink ? .linkToFolder : .folder
    case let type: self = .other(.type(type))
    }
  }
}

/// Checks that two paths lead to the same file; a link is what it leads to.
package func isSameFile(_ a: String, _ b: String) -> Bool {
  guard let first = FileStatus(path: a, followingLinks: true), let second = FileStatus(path: b, followingLinks: true) else { return false }
  return first.isSameFile(as: second)
}
