internal import FoundationEssentials

/// The few questions that a scan asks the file system.
enum FileSystem {
  /// What lies at a path.
  enum Item: Equatable {
    /// A regular file or a link to one.
    case file(bytes: Int)
    case folder
    case linkToFolder
    /// Anything without readable bytes, in words: a broken link, a pipe, a name that is not UTF-8.
    case other(String)
    case missing
  }

  /// Looks at a path; a symbolic link to a file counts as the file.
  static func item(at path: String) -> Item {
    let manager = FileManager.default
    guard let attributes = try? manager.attributesOfItem(atPath: path) else { return .missing }
    guard kind(attributes) == .typeSymbolicLink else { return item(attributes) }
    var isFolder = false
    guard manager.fileExists(atPath: path, isDirectory: &isFolder) else { return .other("link to nothing") }
    if isFolder { return .linkToFolder }
    let target = URL(filePath: path).resolvingSymlinksInPath().path
    guard let attributes = try? manager.attributesOfItem(atPath: target) else { return .other("link to nothing") }
    return item(attributes)
  }

  /// Whether a folder, or a link to one, lies at a path; nil if nothing does.
  static func isFolder(_ path: String) -> Bool? {
    var isFolder = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) ? isFolder : nil
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
    default: .other("no regular file")
    }
  }

  private static func reason(_ error: any Error) -> String {
    switch (error as? CocoaError)?.code {
    case .fileReadNoPermission: DatasetError.noPermission
    case .fileReadNoSuchFile, .fileNoSuchFile: "it no longer exists"
    default: DatasetError.systemFailed
    }
  }
}
