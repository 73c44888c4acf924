/// The kind of failure that an error is. A program that shows it chooses from this how it ends.
package enum FailureKind: Equatable, Sendable {
  /// A request cannot be met, whatever the data.
  case invalidRequest
  /// An input is there and not what it should be.
  case badData
  /// A file or a directory that is read does not exist, or is something else.
  case notFound
  /// An input is there, and its permissions keep the process out.
  case noPermission
  /// An output cannot be created, or may not be replaced.
  case cannotCreate
  /// The system failed to read or write, or has no room.
  case inputOutput
  /// The work itself went wrong, as a training whose loss is not a number any more.
  case failedRun
  /// Somebody asked for an end.
  case interrupted
}

/// A failure below the command line: its kind, and a sentence that says what, where, expected and found, and what to do where that is known.
///
/// Sentences know no options of a command and no exit codes; whoever shows them adds such advice.
package protocol EngineError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  var kind: FailureKind { get }
  /// The error of a lower layer that this one only adds a location to; its sentence ends this one's.
  var cause: (any EngineError)? { get }
}

extension EngineError {
  /// None, as a rule.
  package var cause: (any EngineError)? { nil }

  /// The first of all causes: what happened, without the locations that layers have added.
  package var root: any EngineError { cause?.root ?? self }
}
