/// The mark that tells a file that Dibit wrote from any other: only one that bears it is replaced.
package struct OutputMark: Sendable {
  /// The name of such a file, for messages: "a GGUF file".
  let name: String
  private let isBorne: @Sendable ([UInt8]) -> Bool

  /// The number of bytes of a file that are looked at.
  private static let startBytes = 1 << 16

  /// The mark of files called `name`; `isBorne` is given up to 64 KiB of a file's start.
  package init(_ name: String, isBorne: @escaping @Sendable (_ start: [UInt8]) -> Bool) {
    self.name = name
    self.isBorne = isBorne
  }

  /// A mark that is a text near the start of a file.
  package init(_ name: String, text: String) {
    let text = Array(text.utf8)
    self.init(name) { $0.holds(text) }
  }

  /// Of files whose directory and name are a job's own.
  package static let ownName = OutputMark("a file") { _ in true }

  /// Checks that the regular file at `path` may be replaced. An empty one may: nothing is lost with it.
  ///
  /// - Throws: ``FileError/notOurs(path:expected:)``.
  func check(_ path: String) throws(FileError) {
    var file = try SequentialFile(path)
    let start = try file.read(upTo: Self.startBytes)
    guard start.isEmpty || isBorne(start) else { throw .notOurs(path: path, expected: name) }
  }
}

extension [UInt8] {
  /// Checks that `part` is somewhere among the bytes.
  fileprivate func holds(_ part: [UInt8]) -> Bool {
    guard let first = part.first else { return true }
    return indices.dropLast(Swift.min(count, part.count - 1)).contains { self[$0] == first && self[$0...].starts(with: part) }
  }
}
