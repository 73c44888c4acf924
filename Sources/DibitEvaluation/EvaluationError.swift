package import DibitFailure
internal import DibitDataset
package import DibitInference

/// The reasons for which an evaluation cannot be done.
package enum EvaluationError: EngineError, Equatable {
  case noExamples
  case unknownLabels([String], known: Int)
  case indistinguishableLabels([String])
  case inference(InferenceError)
  case constraint(String)
  case noLabelList
  case interrupted

  /// The kind of failure.
  package var kind: FailureKind { self == .interrupted ? .interrupted : .badData }

  /// One sentence: what, what was expected and found.
  package var description: String {
    switch self {
    case .noExamples: "there is no example to evaluate"
    case .unknownLabels(let labels, let known):
      "the data has labels that the adapter was not trained on: \(labels.prefix(5).joined(separator: ", ")) (it knows \(known))"
    case .indistinguishableLabels(let labels):
      "two of the labels have the same tokens or none: \(labels.prefix(10).joined(separator: ", "))"
    case .inference(let error): "\(error)"
    case .constraint(let reason): "answers of this form cannot be guided: \(reason)"
    case .noLabelList: "the instruction does not list the labels: '\(TaggingTask.labelsPlaceholder)' expected in it, none found"
    case .interrupted: "interrupted"
    }
  }
}
