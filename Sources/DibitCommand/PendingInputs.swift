internal import DibitDataset
internal import DibitEvaluation

/// The inputs that an earlier job has not finished: all of them where there was none.
final class PendingInputs: Sequence, IteratorProtocol {
  private var inputs: TextInputIterator
  private var finished: FinishedPredictions?
  /// Inputs that were finished earlier.
  private(set) var skipped = 0

  init(_ inputs: TextInputs, finished: FinishedPredictions? = nil) { (self.inputs, self.finished) = (inputs.makeIterator(), finished) }

  var bytesRead: Int { inputs.bytesRead }
  /// Files below folders that are no text.
  var passedBy: Int { inputs.passedBy }
  /// The number of records that were finished earlier and are no input of this job.
  var unclaimed: Int { finished?.unclaimed ?? 0 }

  func next() -> TextInput? {
    while let input = inputs.next() {
      guard finished?.take(input.location) == true else { return input }
      skipped += 1
    }
    return nil
  }
}
