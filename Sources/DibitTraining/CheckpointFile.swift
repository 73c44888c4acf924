internal import DibitFailure
internal import DibitCheckpoint
internal import DibitFiles
internal import DibitJSON
internal import DibitTensor

/// A training checkpoint: a safetensors file with all tensors of ``TrainedParameters``, the state and the identity of the run as JSON in
/// its metadata, and a last tensor that holds the SHA-256 of all bytes before it.
enum CheckpointFile {
  private static let format = "dibit-checkpoint"
  private static let version = "1"
  private static let checksum = "checksum"
  private static let checksumBytes = 32

  /// Writes a checkpoint that appears under `path` when it is whole and on the disk; returns its size in bytes.
  static func write(_ parameters: borrowing TrainedParameters, _ state: RunState, _ identity: RunIdentity, to path: String)
    throws(TrainingError) -> Int
  {
    let staged = try rethrow(as: TrainingError.file, StagedFile(destination: path, replacing: .ownName, inputs: .none))
    let size: Int
    do throws(CheckpointError) {
      var writer = try SafetensorsWriter(
        path: staged.path, tensors: parameters.declarations + [(name: checksum, dtype: .u8, shape: [checksumBytes])],
        metadata: [
          (key: "format", value: format), (key: "version", value: version), (key: "state", value: state.json.serialized()),
          (key: "identity", value: identity.json.serialized()),
        ])
      try parameters.write(to: &writer)
      let digest = bytes(hexadecimal: try writer.digest())
      try writer.append(digest.span)
      size = writer.byteCount
      _ = try writer.finalize()
    } catch { throw .tensors(error) }
    do throws(FileError) { try staged.commit() } catch { throw .file(error) }
    return size
  }

  /// A file whose checksum is right.
  struct Whole {
    fileprivate let checkpoint: Checkpoint
    let path: String
    let byteCount: Int

    /// Opens the file at `path`; nil when it is torn: not as long as it says, or with another checksum.
    init?(path: String) throws(TrainingError) {
      let bytes: Bytes
      do throws(FileError) {
        bytes = try MappedFile(path: path).bytes
      } catch {
        guard case .emptyFile = error else { throw .file(error) }
        return nil
      }
      guard bytes.count > checksumBytes else { return nil }
      let end = bytes.count - checksumBytes
      var hash = SHA256()
      hash.update(bytes.slice(0..<end).bytes)
      guard bytes.slice(end..<bytes.count).array == CheckpointFile.bytes(hexadecimal: hash.finalize()) else { return nil }
      checkpoint = try rethrow(as: TrainingError.tensors, Checkpoint.open(bytes: bytes, named: path))
      self.path = path
      byteCount = bytes.count
    }

    private func metadata(_ key: String) -> String? { checkpoint.metadata.first { $0.key == key }?.value }

    private func json(_ key: String) -> JSONValue? { metadata(key).flatMap { try? JSONValue(parsing: Array($0.utf8)) } }

    /// State and identity of its run.
    func header() throws(TrainingError) -> (state: RunState, identity: RunIdentity) {
      guard metadata("format") == format else { throw .badCheckpoint(path: path, problem: "this is no training checkpoint") }
      guard metadata("version") == version else {
        let found = metadata("version") ?? "none"
        throw .badCheckpoint(path: path, problem: "version \(version) of training checkpoints expected, \(found.prefix(20)) found")
      }
      guard let identity = json("identity").flatMap(RunIdentity.init), let state = json("state").flatMap(RunState.init) else {
        throw .badCheckpoint(path: path, problem: "its state cannot be read; it was written by another version")
      }
      return (state, identity)
    }

    /// Reads its tensors.
    func read(into parameters: inout TrainedParameters) throws(TrainingError) {
      try rethrow(as: TrainingError.tensors, parameters.read(from: checkpoint))
    }
  }

  private static func bytes(hexadecimal text: String) -> [UInt8] {
    let digits = text.utf8.map { $0 < UInt8(ascii: "a") ? $0 - UInt8(ascii: "0") : $0 - UInt8(ascii: "a") + 10 }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
