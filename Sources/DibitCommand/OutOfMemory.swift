internal import CDibitMemory
internal import DibitFiles
internal import DibitTensor

/// Memory that the system refuses ends a command with one line and its exit code, wherever it was asked for.
enum OutOfMemory {
  static func listen() {
    dibit_memory_watch(Failure.Code.inputOutput.rawValue) { cleanUpPartialDirectories() }
    MemoryFailure.handle { dibit_memory_refused($0) }
  }
}
