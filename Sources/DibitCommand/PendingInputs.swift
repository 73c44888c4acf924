internal import DibitDataset
internal import DibitEvaluation

/// The inputs that an earlier job has not completed: all of them where there was none.
final class PendingInputs: Sequence, IteratorProtocol {
  private var inputs: TextInputIterator
  private var completed: CompletedPredictions?
  /// Inputs that were completed earlier.
  private(set) var skipped = 0

  init(_ inputs: TextInputs, completed: CompletedPredictions? = nil) { (self.inputs, self.completed) = (inputs.makeIterator(), completed) }

  var bytesRead: Int { inputs.bytesRead }
  /// Files below folders that are no text.
  var skippedFiles: Int { inputs.skippedFiles }
  /// The number of records that were completed earlier and are no input of this job.
  var unclaimed: Int { completed?.unclaimed ?? 0 }

  func next() -> TextInput? {
    while let input = inputs.next() {
      guard completed?.take(input.location) == true else { return input }
      skipped += 1
    }
    return nil
  }
}
