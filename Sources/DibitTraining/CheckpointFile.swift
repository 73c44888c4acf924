internal import DibitCheckpoint
internal import DibitFailure
internal import DibitJSON

/// A training checkpoint: a sealed file with all tensors of ``TrainedParameters``, and the state and the identity of the run as JSON in its
/// metadata.
enum CheckpointFile {
  private static let format = "dibit-checkpoint"
  private static let version = "1"

  /// Writes a checkpoint that appears under `path` when it is whole and on the disk; returns its size in bytes.
  static func write(_ parameters: borrowing TrainedParameters, _ state: RunState, _ identity: RunIdentity, to path: String)
    throws(TrainingError) -> Int
  {
    do throws(CheckpointError) {
      return try SealedFile.write(
        parameters.declarations,
        metadata: [
          (key: "format", value: format), (key: "version", value: version), (key: "state", value: state.json.serialized()),
          (key: "identity", value: identity.json.serialized()),
        ], to: path
      ) { writer throws(CheckpointError) in try parameters.write(to: &writer) }
    } catch { throw TrainingError(error) }
  }

  /// A file whose checksum is right.
  struct Whole {
    private let file: SealedFile

    /// Opens the file at `path`; nil when it is torn.
    init?(path: String) throws(TrainingError) {
      do throws(CheckpointError) {
        guard let file = try SealedFile(path: path) else { return nil }
        self.file = file
      } catch { throw TrainingError(error) }
    }

    var path: String { file.path }
    var byteCount: Int { file.byteCount }

    private func json(_ key: String) -> JSONValue? { file.metadata(key).flatMap { try? JSONValue(parsing: Array($0.utf8)) } }

    /// State and identity of its run.
    func header() throws(TrainingError) -> (state: RunState, identity: RunIdentity) {
      guard file.metadata("format") == format else { throw .badCheckpoint(path: path, problem: "this is no training checkpoint") }
      guard file.metadata("version") == version else {
        let found = file.metadata("version") ?? "none"
        throw .badCheckpoint(path: path, problem: "version \(version) of training checkpoints expected, \(found.prefix(20)) found")
      }
      guard let identity = json("identity").flatMap(RunIdentity.init), let state = json("state").flatMap(RunState.init) else {
        throw .badCheckpoint(path: path, problem: "its state cannot be read; it was written by another version")
      }
      return (state, identity)
    }

    /// Reads its tensors.
    func read(into parameters: inout TrainedParameters) throws(TrainingError) {
      try rethrow(as: TrainingError.tensors, parameters.read(from: file.checkpoint))
    }
  }
}

extension TrainingError {
  /// The failure of a checkpoint, or of the file that it is.
  fileprivate init(_ error: CheckpointError) {
    if case .file(let error) = error { self = .file(error) } else { self = .tensors(error) }
  }
}
