internal import DibitCheckpoint
internal import Glibc
internal import Synchronization

/// Ctrl-C: the first asks the job to stop, the second removes unfinished outputs and exits at once.
enum Interrupt {
  private static let count = Atomic<Int>(0)
  private static let watch: Void = watchSignals([SIGINT, SIGTERM]) {
    guard count.add(1, ordering: .relaxed).oldValue > 0 else { return }
    cleanUpPartialDirectories()
    _exit(Failure.Code.interrupted.rawValue)
  }

  /// Begins to listen; call it before a long job, and before threads are started.
  static func listen() { _ = watch }

  /// Whether the user asked to stop.
  static var isRequested: Bool { count.load(ordering: .relaxed) > 0 }
}
