internal import Synchronization

/// The outputs of this process that are not whole yet.
enum PartialOutputs {
  private static let paths = Mutex<Set<[UInt8]>>([])

  static func add(_ path: String) { paths.withLock { _ = $0.insert(Array(path.utf8)) } }

  static func remove(_ path: String) { paths.withLock { _ = $0.remove(Array(path.utf8)) } }

  static func contains(_ path: String) -> Bool { paths.withLock { $0.contains(Array(path.utf8)) } }

  static func takeAll() -> [String] {
    paths.withLock { paths in
      defer { paths = [] }
      return paths.map { String(decoding: $0, as: UTF8.self) }
    }
  }
}

/// The path with the name that an output will have in place of the hidden one that it is written under: for messages.
func finalPath(_ path: String) -> String {
  path.split(separator: "/", omittingEmptySubsequences: false).map { part in
    guard part.first == ".", let mark = part.firstRange(of: ".partial-"), part[mark.upperBound...].allSatisfy({ $0.isNumber || $0 == "-" })
    else {
      return part
    }
    return part[..<mark.lowerBound].dropFirst()
  }.joined(separator: "/")
}

/// Removes what this process has written so far for outputs that are not committed. Jobs that go on writing fail.
///
/// Call it before exiting on Ctrl-C, from a thread that waits for the signal or a dispatch source: it takes a lock and allocates,
/// which a handler that interrupts other code must not.
public func cleanUpPartialDirectories() {
  for path in PartialOutputs.takeAll() { removeTree(path) }
}
