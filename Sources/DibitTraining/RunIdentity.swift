internal import DibitFiles
package import DibitJSON

/// The inputs that decide the result of a run: a checkpoint fits a run with the same identity only.
package struct RunIdentity: Equatable, Sendable {
  /// A digest of the model that training starts from.
  package var model: String
  /// A digest of the data and its splits.
  package var data: String
  /// Every option that the result depends on, under the names of recipes.
  package var options: JSONObject

  /// The options among them that say how long the run is and decide nothing about a step: a checkpoint of a shorter or longer run fits too.
  package var lengths: Set<String>

  /// An identity of these parts.
  package init(model: String, data: String, options: JSONObject, lengths: Set<String> = []) {
    (self.model, self.data, self.options, self.lengths) = (model, data, options, lengths)
  }

  /// SHA-256 over all parts.
  package var digest: String { SHA256.digest(Array(json.serialized().utf8)) }

  /// All parts, for a file that says what was begun.
  package var json: JSONValue { ["model": .string(model), "data": .string(data), "options": .object(options)] }

  /// Reads what ``json`` wrote; nil for anything else.
  package init?(_ json: JSONValue) {
    guard let model = json["model"]?.string, let data = json["data"]?.string, let options = json["options"]?.object else { return nil }
    self.init(model: model, data: data, options: options)
  }

  /// The first part in which two identities differ.
  package enum Difference: Equatable, Sendable {
    case model
    case data
    /// An option, with its values as they are written; "not set" where there is none.
    case option(key: String, was: String, found: String)
  }

  /// The value of an option that is not there, as ``Difference`` tells it.
  package static let notSet = "not set"

  /// Returns how this identity differs from an earlier one; nil where they are the same.
  package func difference(from other: RunIdentity) -> Difference? {
    if other.model != model { return .model }
    if other.data != data { return .data }
    // A file does not tell 0.0 from 0: what counts is how they are written.
    func shown(_ value: JSONValue?) -> String { value?.serialized() ?? Self.notSet }
    for key in other.options.keys + options.keys where !lengths.contains(key) && shown(other.options[key]) != shown(options[key]) {
      return .option(key: key, was: shown(other.options[key]), found: shown(options[key]))
    }
    return nil
  }

  /// Returns the reason for which a run with this identity cannot go on from the checkpoint `path` of `other`; nil when it can.
  func difference(from other: RunIdentity, at path: String) -> TrainingError? {
    switch difference(from: other) {
    case nil: nil
    case .model: .changedModel(checkpoint: path)
    case .data: .changedData(checkpoint: path)
    case .option(let key, let was, let found): .changedOption(checkpoint: path, key: key, was: was, found: found)
    }
  }
}
