package import DibitDataset
package import DibitFailure

/// The reasons for which there is no prediction for an input.
package enum PredictionFault: EngineError, Equatable {
  /// It cannot be read.
  case input(DatasetError)
  /// The model cannot score it.
  case model(EvaluationError)

  /// The kind of failure.
  package var kind: FailureKind { underlying.kind }

  /// The failure of the input or of the model.
  package var cause: (any EngineError)? { underlying }

  private var underlying: any EngineError {
    switch self {
    case .input(let error): error
    case .model(let error): error
    }
  }

  /// One sentence.
  package var description: String { "\(underlying)" }
}

/// The outcome of one input.
package struct InputPrediction: Equatable, Sendable {
  /// The location that the text is from.
  package let location: TextLocation
  /// The prediction, or the reason for which there is none.
  package let result: Result<TextPrediction, PredictionFault>

  /// The prediction of a location.
  package init(location: TextLocation, result: Result<TextPrediction, PredictionFault>) {
    (self.location, self.result) = (location, result)
  }
}

extension PredictionJob {
  /// Predicts inputs as they come, in any number; `receive` is told what came of each, in the order of the inputs, and stops by returning
  /// false. An input that cannot be read stops no other.
  ///
  /// Results come out of order by the few dozen texts that are under way at a time; so many wait here for those before them.
  package mutating func run(_ inputs: some Sequence<TextInput>, receive: (InputPrediction) -> Bool) {
    withoutActuallyEscaping(receive) { receive in
      let queue = PredictionQueue(receive: receive)
      run(QueuedTexts(inputs: inputs.makeIterator(), queue: queue)) { index, result in
        queue.complete(text: index, result.mapError { .model($0) })
      }
      queue.close()
    }
  }
}

/// Puts results back in the order of their inputs.
private final class PredictionQueue {
  private var receive: ((InputPrediction) -> Bool)?
  /// The inputs from the first that has not been told, with their results as far as they are known.
  private var waiting: [(location: TextLocation, result: Result<TextPrediction, PredictionFault>?)] = []
  /// The number of the first that waits, among all inputs.
  private var told = 0
  /// The numbers of the texts under way among all inputs.
  private var numbers: [Int: Int] = [:]
  private var texts = 0

  init(receive: @escaping (InputPrediction) -> Bool) { self.receive = receive }

  var isStopped: Bool { receive == nil }

  /// Adds a text that is given to the model.
  func addText(_ location: TextLocation) {
    numbers[texts] = told + waiting.count
    texts += 1
    waiting.append((location, nil))
  }

  func addFault(_ location: TextLocation, _ error: DatasetError) {
    waiting.append((location, .failure(.input(error))))
    tell()
  }

  /// Takes the result of a text; false when nobody wants more.
  func complete(text: Int, _ result: Result<TextPrediction, PredictionFault>) -> Bool {
    if let number = numbers.removeValue(forKey: text), number >= told { waiting[number - told].result = result }
    tell()
    return !isStopped
  }

  /// Forgets the caller, whose closure must not be used any longer.
  func close() { receive = nil }

  private func tell() {
    var count = 0
    while let receive, count < waiting.count, let result = waiting[count].result {
      count += 1
      if !receive(InputPrediction(location: waiting[count - 1].location, result: result)) { close() }
    }
    waiting.removeFirst(count)
    told += count
  }
}

/// The texts among inputs; faults go to the queue.
private struct QueuedTexts<Inputs: IteratorProtocol>: Sequence, IteratorProtocol where Inputs.Element == TextInput {
  var inputs: Inputs
  let queue: PredictionQueue

  mutating func next() -> String? {
    while !queue.isStopped, let input = inputs.next() {
      switch input.content {
      case .success(let text):
        queue.addText(input.location)
        return text
      case .failure(let error): queue.addFault(input.location, error)
      }
    }
    return nil
  }
}
