internal import DibitFailure
internal import DibitFiles
internal import DibitTensor

/// Windows of tokens that a long job keeps in the directory beside its output, a file for each piece, so that text that a model wrote is not
/// written again after the job was stopped.
package struct KeptText: Sendable {
  private let directory: String
  private let identity: String
  private let vocabulary: Int32

  /// The text of a job's directory.
  ///
  /// - Parameters:
  ///   - identity: All that the text depends on.
  ///   - vocabulary: The size of the vocabulary.
  package init(in directory: String, identity: String, vocabulary: Int) {
    (self.directory, self.identity, self.vocabulary) = (directory, identity, Int32(clamping: vocabulary))
  }

  private static let (prefix, suffix) = ("text-", ".safetensors")

  /// Returns whether a file of that name keeps text.
  package static func isName(_ name: String) -> Bool {
    name.hasPrefix(prefix) && name.hasSuffix(suffix) && Int(name.dropFirst(prefix.count).dropLast(suffix.count)) != nil
  }

  /// The windows that are kept, up to the first piece that is not there or not whole; nil where there are those of another text.
  package func windows() throws(CheckpointError) -> [[Int32]]? {
    var windows: [[Int32]] = []
    while isRegularFile(path(behind: windows.count)), let file = try SealedFile(path: path(behind: windows.count)) {
      guard let piece = try self.windows(of: file) else { return nil }
      windows += piece
    }
    return windows
  }

  /// Keeps windows as the piece behind the first `count`.
  package func keep(_ windows: [[Int32]], behind count: Int) throws(CheckpointError) {
    let (tokens, lengths) = (windows.flatMap { $0 }, windows.map { Int32($0.count) })
    let tensors = [(name: "tokens", dtype: DType.i32, shape: [tokens.count]), (name: "lengths", dtype: .i32, shape: [lengths.count])]
    _ = try SealedFile.write(tensors, metadata: [(key: "identity", value: identity)], to: path(behind: count)) {
      writer throws(CheckpointError) in
      try writer.append(Self.bytes(tokens).span)
      try writer.append(Self.bytes(lengths).span)
    }
  }

  private func path(behind count: Int) -> String { join(directory, Self.prefix + String(count) + Self.suffix) }

  private func windows(of file: SealedFile) throws(CheckpointError) -> [[Int32]]? {
    guard file.metadata("identity") == identity, let tokens = try file.checkpoint.bytes("tokens"),
      let lengths = try file.checkpoint.bytes("lengths")
    else { return nil }
    let (all, counts) = (Self.integers(tokens), Self.integers(lengths).map { Int($0) })
    guard !counts.isEmpty, counts.allSatisfy({ $0 >= 0 }), counts.reduce(0, +) == all.count,
      all.allSatisfy({ (0..<vocabulary).contains($0) })
    else { return nil }
    var end = 0
    return counts.map { count in
      end += count
      return Array(all[end - count..<end])
    }
  }

  private static func bytes(_ values: [Int32]) -> [UInt8] {
    values.flatMap(\.littleEndianBytes)
  }

  private static func integers(_ bytes: Bytes) -> [Int32] {
    (0..<bytes.count / 4).map { index in (0..<4).reduce(0) { $0 | Int32(bytes[4 * index + $1]) << (8 * Int32($1)) } }
  }
}
