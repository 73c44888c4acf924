internal import FoundationEssentials

/// The few questions that a scan asks the file system.
enum FileSystem {
  /// What lies at a path.
  enum Item: Equatable {
    /// A regular file or a link to one.
    case file(bytes: Int)
    case folder
    case linkToFolder
    /// Anything without readable bytes, in words: a broken link, a device, a pipe.
    case other(String)
    /// What may not be looked at, and why.
    case unreachable(String)
    /// Nothing, or a name that is not UTF-8.
    case missing
  }

  /// Looks at a path; a symbolic link to a file counts as the file.
  static func item(at path: String) -> Item {
    let manager = FileManager.default
    let attributes: [FileAttributeKey: Any]
    do { attributes = try manager.attributesOfItem(atPath: path) } catch {
      return (error as? CocoaError)?.code == .fileReadNoPermission ? .unreachable(DatasetError.permissionDenied) : .missing
    }
    guard kind(attributes) == .typeSymbolicLink else { return item(attributes) }
    var isFolder = false
    guard manager.fileExists(atPath: path, isDirectory: &isFolder) else { return .other("a link to nothing") }
    if isFolder { return .linkToFolder }
    let target = URL(filePath: path).resolvingSymlinksInPath().path
    // It leads somewhere, and that has no path: a pipe of the shell's.
    guard let attributes = try? manager.attributesOfItem(atPath: target) else { return .other(special) }
    return item(attributes)
  }

  /// Whether a folder, or a link to one, lies at a path, or else a file.
  ///
  /// - Throws: where neither does.
  static func isFolder(_ path: String) throws(DatasetError) -> Bool {
    switch item(at: path) {
    case .file: return false
    case .folder, .linkToFolder: return true
    case .other(let found): throw .notAFile(path: path, found: found)
    case .unreachable(let reason): throw .unreadableFile(path: path, reason: reason)
    case .missing: throw .missing(path: path)
    }
  }

  /// Whether two names lead to the same file; a link is what it leads to.
  static func isSame(_ a: String, _ b: String) -> Bool {
    let paths = [a, b].map { URL(filePath: $0).resolvingSymlinksInPath().path }
    let identities = paths.map { path -> [UInt?] in
      let attributes = try? FileManager.default.attributesOfItem(atPath: path)
      return [attributes?[.systemNumber] as? UInt, attributes?[.systemFileNumber] as? UInt]
    }
    return identities[0] == identities[1] && !identities[0].contains(nil)
  }

  /// The names in a folder in the order of their UTF-8 bytes, hidden ones included.
  static func names(in folder: String) throws(DatasetError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder).sortedByBytes()
    } catch {
      throw .unreadableFolder(path: folder, reason: reason(error))
    }
  }

  /// The bytes of a file, copied; with `mapped`, the pages of the file itself, which must not shrink meanwhile.
  static func bytes(of file: String, mapped: Bool = false) throws(DatasetError) -> Data {
    do {
      return try Data(contentsOf: URL(filePath: file, directoryHint: .notDirectory), options: mapped ? .alwaysMapped : [])
    } catch {
      throw .unreadableFile(path: file, reason: reason(error))
    }
  }

  /// Joins a folder and a name.
  static func join(_ folder: String, _ name: String) -> String {
    if folder.isEmpty { return name }
    return folder.utf8.last == UInt8(ascii: "/") ? folder + name : folder + "/" + name
  }

  private static func kind(_ attributes: [FileAttributeKey: Any]) -> FileAttributeType? { attributes[.type] as? FileAttributeType }

  private static func item(_ attributes: [FileAttributeKey: Any]) -> Item {
    switch kind(attributes) {
    // A `UInt`, or an `NSNumber` where the whole of Foundation is loaded: the cast takes both.
    case .typeRegular: .file(bytes: (attributes[.size] as? UInt).map { Int(clamping: $0) } ?? 0)
    case .typeDirectory: .folder
    default: .other(special)
    }
  }

  private static let special = "a device, pipe or socket"

  private static func reason(_ error: any Error) -> String {
    switch (error as? CocoaError)?.code {
    case .fileReadNoPermission: DatasetError.permissionDenied
    case .fileReadNoSuchFile, .fileNoSuchFile: "it no longer exists"
    default: "input/output error"
    }
  }
}
