import FoundationEssentials

/// A folder of its own for one test, removed afterwards.
final class TemporaryFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "dibit-dataset-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// A folder with one UTF-8 text per path, created in the order given.
  convenience init(_ texts: KeyValuePairs<String, String>) throws {
    try self.init()
    for (path, text) in texts { try write(path, text) }
  }

  func absolute(_ relative: String) -> String { path + "/" + relative }

  func write(_ relative: String, _ text: String) throws { try write(relative, Array(text.utf8)) }

  func write(_ relative: String, _ bytes: [UInt8]) throws {
    let file = absolute(relative)
    let slash = file.utf8.lastIndex(of: UInt8(ascii: "/")) ?? file.startIndex
    try FileManager.default.createDirectory(atPath: String(file[..<slash]), withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: file, directoryHint: .notDirectory))
  }

  func makeFolder(_ relative: String) throws {
    try FileManager.default.createDirectory(atPath: absolute(relative), withIntermediateDirectories: true)
  }

  func link(_ relative: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(atPath: absolute(relative), withDestinationPath: target)
  }

  func setPermissions(_ relative: String, _ permissions: Int) throws {
    try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: absolute(relative))
  }
}

/// The folder that holds Package.swift.
let projectRoot = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")

/// The bytes of a text in UTF-16 with its mark.
func utf16(_ text: String, littleEndian: Bool) -> [UInt8] {
  ([0xFEFF] + Array(text.utf16)).flatMap { unit -> [UInt8] in
    let bytes = [UInt8(truncatingIfNeeded: unit), UInt8(truncatingIfNeeded: unit >> 8)]
    return littleEndian ? bytes : bytes.reversed()
  }
}
