internal import DibitCheckpoint
internal import DibitJSON
internal import DibitTensor
internal import Synchronization

/// The comparison of a model's weights with the digest in its manifest, which goes on beside other work.
///
/// Opening a model reads nothing of its weights but what is used. Their digest takes about as long as reading them from memory, so it is
/// computed on a thread of its own, while the first pass runs over the same bytes. ``StoredModel/open(_:checksWeights:)`` begins it; whoever
/// gives results away calls ``finish(_:)`` or ``finishAll()`` before.
package final class WeightsCheck: Sendable {
  private let directory: String
  private let expected: String
  private let outcome = Mutex<Outcome?>(nil)

  private enum Outcome {
    case same
    case fault(ModelStoreError)
  }

  /// Those that nobody has waited for.
  private static let pending = Mutex<[WeightsCheck]>([])

  private init(_ directory: String, expected: String) {
    self.directory = directory
    self.expected = expected
  }

  /// Begins to check the weights of a directory, or the file with them there, whose manifest has their digest; does nothing for anything
  /// else.
  package static func begin(_ path: String) {
    let directory = StoreKind.owner(of: path) ?? path
    guard isDirectory(directory), isRegularFile(directory + "/" + StoreFile.manifest),
      let digest = (try? readJSON(StoreFile.manifest, in: directory))?["weights_sha256"]?.string
    else { return }
    let check = WeightsCheck(directory, expected: digest)
    pending.withLock { $0.append(check) }
    // Without a thread, whoever waits for the outcome computes it.
    _ = startThread { _ = check.compare() }
  }

  /// Waits for all checks that were begun: for a process that is one job.
  ///
  /// - Throws: ``ModelStoreError/damaged(path:expected:found:)`` for the first file that is not what it was.
  package static func finishAll() throws(ModelStoreError) { try finish { _ in true } }

  /// Waits for the checks of what ``begin(_:)`` was given: for a job among others.
  ///
  /// - Throws: ``ModelStoreError/damaged(path:expected:found:)``.
  package static func finish(_ path: String) throws(ModelStoreError) {
    let directory = StoreKind.owner(of: path) ?? path
    try finish { $0.directory == directory }
  }

  private static func finish(where isMeant: (WeightsCheck) -> Bool) throws(ModelStoreError) {
    let checks = pending.withLock { checks in
      let meant = checks.filter(isMeant)
      checks.removeAll(where: isMeant)
      return meant
    }
    for check in checks {
      if case .fault(let error) = check.compare() { throw error }
    }
  }

  /// The outcome; who comes second waits for the first.
  private func compare() -> Outcome {
    outcome.withLock { outcome in
      if let outcome { return outcome }
      let result: Outcome
      do throws(ModelStoreError) {
        try checkDigest(of: directory + "/" + StoreFile.weights, expected)
        result = .same
      } catch { result = .fault(error) }
      outcome = result
      return result
    }
  }
}

/// Checks that a file is what it was when its manifest was written.
func checkDigest(of path: String, _ expected: String) throws(ModelStoreError) {
  let found: String
  do throws(CheckpointError) { found = try fileDigest(path) } catch { throw .checkpoint(error) }
  guard found == expected else { throw .damaged(path: path, expected: expected, found: found) }
}
