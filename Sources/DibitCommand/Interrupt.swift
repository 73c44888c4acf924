internal import DibitFiles
internal import Glibc
internal import Synchronization

/// Ctrl-C: the first asks the job to stop, the second removes unfinished outputs and exits at once.
enum Interrupt {
  private static let count = Atomic<Int>(0)
  private static let terminations = Atomic<Int>(0)
  private static let watch: Void = watchSignals([SIGINT, SIGTERM]) { signal in
    if signal == SIGTERM { terminations.add(1, ordering: .sequentiallyConsistent) }
    guard count.add(1, ordering: .sequentiallyConsistent).oldValue > 0 else { return }
    cleanUpPartialDirectories()
    _exit(Failure.Code.interrupted.rawValue)
  }

  /// Begins to listen; call it before a long job, and before threads are started.
  static func listen() { _ = watch }

  /// True where the user asked to stop.
  static var isRequested: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

  /// True where it was not Ctrl-C that asked, but whoever ends processes.
  static var isTermination: Bool { terminations.load(ordering: .sequentiallyConsistent) > 0 }

  /// Begins anew: the job that was to stop has stopped, and another may begin.
  static func clear() {
    count.store(0, ordering: .sequentiallyConsistent)
    // Whoever ends processes does not ask twice.
    if isTermination { count.add(1, ordering: .sequentiallyConsistent) }
  }
}
