internal import DibitFailure
internal import DibitFiles
package import DibitTensor

/// A safetensors file whose last tensor holds the SHA-256 of all bytes before it, so that a whole one is told from one that is torn: what a
/// long job keeps to go on with after it was stopped.
package struct SealedFile: Sendable {
  /// Its path.
  package let path: String
  /// Its size.
  package let byteCount: Int
  /// Its tensors, and the seal.
  package let checkpoint: Checkpoint

  private static let seal = "checksum"
  private static let sealBytes = 32

  /// Writes a file that appears under `path` when it is whole and on the disk; returns its size in bytes. `body` appends the tensors.
  package static func write(
    _ tensors: [(name: String, dtype: DType, shape: [Int])], metadata: [(key: String, value: String)], to path: String,
    _ body: (inout SafetensorsWriter) throws(CheckpointError) -> Void
  ) throws(CheckpointError) -> Int {
    let staged = try rethrow(as: CheckpointError.file, StagedFile(destination: path, replacing: .ownName, inputs: .none))
    var writer = try SafetensorsWriter(
      path: staged.path, tensors: tensors + [(name: seal, dtype: .u8, shape: [sealBytes])], metadata: metadata)
    try body(&writer)
    let digest = bytes(hexadecimal: try writer.digest())
    try writer.append(digest.span)
    let size = writer.byteCount
    _ = try writer.finalize()
    do throws(FileError) { try staged.commit() } catch { throw .file(error) }
    return size
  }

  /// Opens the file at `path`; nil when it is torn: not as long as it says, or with another checksum.
  package init?(path: String) throws(CheckpointError) {
    let bytes: Bytes
    do throws(FileError) {
      bytes = try MappedFile(path: path).bytes
    } catch {
      guard case .emptyFile = error else { throw .file(error) }
      return nil
    }
    guard bytes.count > Self.sealBytes else { return nil }
    let end = bytes.count - Self.sealBytes
    var hash = SHA256()
    hash.update(bytes.slice(0..<end).bytes)
    guard bytes.slice(end..<bytes.count).array == Self.bytes(hexadecimal: hash.finalize()) else { return nil }
    checkpoint = try Checkpoint.open(bytes: bytes, named: path)
    (self.path, byteCount) = (path, bytes.count)
  }

  /// The value of a key of its metadata; nil where there is none.
  package func metadata(_ key: String) -> String? { checkpoint.metadata.first { $0.key == key }?.value }

  private static func bytes(hexadecimal text: String) -> [UInt8] {
    let digits = text.utf8.map { $0 < UInt8(ascii: "a") ? $0 - UInt8(ascii: "0") : $0 - UInt8(ascii: "a") + 10 }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
