internal import DibitFailure
internal import DibitCheckpoint
internal import DibitFiles
internal import DibitJSON
internal import DibitTensor
internal import Synchronization

/// The comparison of a model's weights with the digest in its manifest, which goes on beside other work.
///
/// Opening a model reads nothing of its weights but what is used. Their digest takes about as long as reading them from memory, so it is
/// computed on a thread of its own, while the first pass runs over the same bytes. ``StoredModel/open(_:checksWeights:)`` begins it; whoever
/// gives results away calls ``wait()`` before.
package final class WeightsCheck: Sendable {
  private let path: String
  private let expected: String
  private let outcome = Mutex<Result<Void, ModelStoreError>?>(nil)

  private init(_ path: String, expected: String) {
    self.path = path
    self.expected = expected
  }

  /// Begins to check the weights of a directory, or the file with them there, whose manifest has their digest; nil for anything else.
  package static func begin(_ path: String) -> WeightsCheck? {
    let directory = StoreKind.owner(of: path) ?? path
    guard isDirectory(directory), isRegularFile(directory + "/" + StoreFile.manifest),
      let digest = (try? readJSON(StoreFile.manifest, in: directory))?["weights_sha256"]?.string
    else { return nil }
    let check = WeightsCheck(directory + "/" + StoreFile.weights, expected: digest)
    // Without a thread, whoever waits for the outcome computes it.
    _ = startThread { try? check.wait() }
    return check
  }

  /// Waits for the outcome; who comes second waits for the first.
  ///
  /// - Throws: ``ModelStoreError/damaged(path:expected:found:)`` where the file is not what it was.
  package func wait() throws(ModelStoreError) {
    let result = outcome.withLock { outcome in
      if let outcome { return outcome }
      let result: Result<Void, ModelStoreError>
      do throws(ModelStoreError) { result = .success(try checkDigest(of: path, expected)) } catch { result = .failure(error) }
      outcome = result
      return result
    }
    try result.get()
  }
}

/// Checks that a file is what it was when its manifest was written.
func checkDigest(of path: String, _ expected: String) throws(ModelStoreError) {
  let found = try rethrow(as: ModelStoreError.file, fileDigest(path))
  guard found == expected else { throw .damaged(path: path, expected: expected, found: found) }
}
