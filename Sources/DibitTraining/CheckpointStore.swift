internal import DibitFailure
package import DibitCheckpoint
package import DibitFiles
internal import DibitJSON
internal import DibitTensor

/// The interval at which checkpoints are written.
package enum CheckpointInterval: Equatable, Sendable {
  /// After so many steps.
  case steps(Int)
  /// About every so many seconds. Where exactly they fall changes nothing in the result.
  case seconds(Double)
}

/// The checkpoints of one run, and its event log, in a directory beside the output.
///
/// The last two checkpoints are kept. The directory goes when the run is done: see ``removeAll()``.
package final class CheckpointStore {
  /// The directory's path.
  package let path: String
  /// The step of the newest whole checkpoint; nil when there is none.
  package private(set) var newestStep: Int?
  /// Its size in bytes.
  private(set) var newestSize: Int?
  /// The names of torn checkpoints that were passed over.
  private(set) var skipped: [String] = []
  private let resumes: Bool
  let interval: CheckpointInterval
  private let identity: RunIdentity
  private var directory: JobDirectory
  private var whole: CheckpointFile.Whole?
  /// Whole checkpoints, the newest first.
  private var kept: [String]
  private var events: JournalFile?
  private var pendingEvents: [UInt8] = []
  private var lastFlush = ContinuousClock.now

  /// The name of the event log.
  package static let eventLog = "events.jsonl"

  /// The beginning of the names of trials that a search for settings keeps there.
  package static let trialPrefix = "search-"

  /// Returns whether a file of that name belongs to what a job did before its run: text that it wrote, trials of settings.
  private static func isPreparation(_ name: String) -> Bool {
    KeptText.isName(name) || name.hasPrefix(trialPrefix) && name.hasSuffix(".json")
  }

  /// Opens or creates the directory beside `output`.
  ///
  /// With `resumes`, the newest whole checkpoint must belong to a run with this identity; where there is none, the run begins. Without, none
  /// may be there unless `discards` says that it is to be removed.
  package init(
    output: String, inputs: JobInputs, identity: RunIdentity, interval: CheckpointInterval, resumes: Bool, discards: Bool
  ) throws(TrainingError) {
    do throws(FileError) {
      path = try JobDirectory.path(of: output)
      directory = try JobDirectory(of: output, inputs: inputs)
    } catch { throw .file(error) }
    let found = try Self.search(directory)
    (self.identity, self.interval, self.resumes) = (identity, interval, resumes)
    (whole, kept, skipped) = found
    newestStep = found.kept.first.flatMap(CheckpointName.step)
    newestSize = whole?.byteCount
    if resumes, let whole {
      if let difference = identity.difference(from: try whole.header().identity, at: whole.path) { throw difference }
      return
    }
    if let newestStep, !discards { throw .incompleteRun(directory: path, step: newestStep) }
    // A process that died while it removed older checkpoints may have left more than two.
    do throws(FileError) {
      for name in try directory.names() where CheckpointName.step(of: name) != nil || discards && KeptText.isName(name) {
        directory.remove(name)
      }
    } catch { throw .file(error) }
    (whole, kept, newestStep, newestSize) = (nil, [], nil, nil)
    if !resumes { skipped = [] }
  }

  /// The newest whole checkpoint, the names of the last two whole ones, and those of torn ones that are newer.
  private static func search(_ directory: borrowing JobDirectory) throws(TrainingError) -> (
    whole: CheckpointFile.Whole?, kept: [String], torn: [String]
  ) {
    let names = try rethrow(as: TrainingError.file, directory.names())
    if let foreignEntry = names.first(where: { $0 != eventLog && CheckpointName.step(of: $0) == nil && !isPreparation($0) }) {
      throw .file(.notReplaceable(path: directory.path, .foreignFile(foreignEntry, job: "training run")))
    }
    var (whole, kept, torn): (CheckpointFile.Whole?, [String], [String]) = (nil, [], [])
    for name in names.reversed() where CheckpointName.step(of: name) != nil && kept.count < 2 {
      guard let found = try CheckpointFile.Whole(path: directory.path(of: name)) else {
        torn.append(name)
        continue
      }
      whole = whole ?? found
      kept.append(name)
    }
    return (whole, kept, torn)
  }

  /// Notes on how a run was taken up: the torn checkpoints that were passed over, and that there was none to go on from.
  package var findings: [String] {
    skipped.map { "'\($0)' in '\(path)' is not whole; it was passed over" }
      + (resumes && newestStep == nil ? ["'\(path)' holds no checkpoint to go on from: the run begins"] : [])
  }

  /// The text of this run that is kept beside its checkpoints: `identity` says all that it depends on.
  package func text(identity: String, vocabulary: Int) -> KeptText {
    KeptText(in: path, identity: identity, vocabulary: vocabulary)
  }

  /// From now on the directory stays, also where there is no checkpoint, until ``removeAll()``.
  package func keep() { directory.keep() }

  /// Reads the newest checkpoint into `parameters`; nil for a run that begins anew.
  func restore(_ parameters: inout TrainedParameters) throws(TrainingError) -> RunState? {
    guard let whole else { return nil }
    let state = try whole.header().state
    try whole.read(into: &parameters)
    self.whole = nil
    return state
  }

  /// Checks before the first step that there is room for the two checkpoints that are kept and the one that is being written.
  ///
  /// The output, which is smaller than a checkpoint, comes when only two are there.
  func checkSpace(for parameters: borrowing TrainedParameters) throws(TrainingError) {
    let size = parameters.declarations.reduce(0) { $0 + $1.shape.reduce($1.dtype.byteCount, *) }
    try rethrow(
      as: TrainingError.file, FreeSpace().check((3 - kept.count) * size, largest: size, at: directory.path(of: Self.eventLog)))
  }

  /// Writes a checkpoint of `state`, which is told how far the event log reaches, and removes all but the last two; returns its size.
  func save(_ parameters: borrowing TrainedParameters, _ state: inout RunState) throws(TrainingError) -> Int {
    do throws(FileError) {
      try flushEvents()
      try events?.sync()
    } catch { throw .file(error) }
    state.eventBytes = events?.byteCount ?? 0
    let name = CheckpointName.of(state.step)
    let size = try CheckpointFile.write(parameters, state, identity, to: directory.path(of: name))
    directory.keep()
    do throws(FileError) {
      kept = [name] + kept.filter { $0 != name }.prefix(1)
      for other in try directory.names() where CheckpointName.step(of: other) != nil && !kept.contains(other) { directory.remove(other) }
      (newestStep, newestSize) = (state.step, size)
      return size
    } catch { throw .file(error) }
  }

  /// Removes the directory: the output of the run is in its place.
  package func removeAll() { directory.removeAll() }

  /// Removes what a run with this output left, if it left anything; nothing that is not of a training run.
  package static func remove(of output: String, inputs: JobInputs) throws(TrainingError) {
    guard isDirectory(try rethrow(as: TrainingError.file, JobDirectory.path(of: output))) else { return }
    var directory = try rethrow(as: TrainingError.file, JobDirectory(of: output, inputs: inputs))
    _ = try search(directory)
    directory.removeAll()
  }
}

extension CheckpointStore {
  /// Begins or goes on with the event log after its first `bytes` bytes.
  func openEvents(keeping bytes: Int) throws(TrainingError) {
    do throws(FileError) {
      // It is locked as long as it is open.
      self.events = nil
      var events = try JournalFile(path: directory.path(of: Self.eventLog), inputs: .none)
      try events.cut(after: bytes)
      self.events = consume events
    } catch { throw .file(error) }
  }

  /// Adds an event to the log; lines reach the file within about a second.
  func log(_ event: TrainingEvent) throws(TrainingError) {
    pendingEvents += Array((JSONValue.object(event.json).serialized() + "\n").utf8)
    var isLast = false
    if case .end = event.kind { isLast = true }
    guard isLast || pendingEvents.count >= 32_768 || ContinuousClock.now - lastFlush > .seconds(1) else { return }
    try rethrow(as: TrainingError.file, flushEvents())
  }

  private func flushEvents() throws(FileError) {
    lastFlush = .now
    guard !pendingEvents.isEmpty else { return }
    try events?.append(pendingEvents.span)
    pendingEvents.removeAll(keepingCapacity: true)
  }

  /// All lines of the event log, for the output.
  package func eventLines() throws(TrainingError) -> [UInt8] {
    do throws(FileError) {
      try flushEvents()
      return try readFile(directory.path(of: Self.eventLog), limit: 1 << 32)
    } catch { throw .file(error) }
  }
}

/// The names of checkpoints: `step-0000000120.safetensors`, so that their bytes order them by step.
enum CheckpointName {
  private static let prefix = "step-"
  private static let suffix = ".safetensors"

  static func of(_ step: Int) -> String {
    let digits = String(step)
    return prefix + String(repeating: "0", count: max(0, 10 - digits.count)) + digits + suffix
  }

  /// The step that a name belongs to; nil for other names.
  static func step(of name: String) -> Int? {
    guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
    let digits = name.dropFirst(prefix.count).dropLast(suffix.count)
    return digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(digits) : nil
  }
}
