internal import DibitFailure

/// A fault inside a file that PyTorch saved, or that says so.
package enum PyTorchFault: Error, Equatable, Sendable {
  case archive(ZipFault)
  case pickle(PickleFault)
  /// A ZIP archive without `NAME/data.pkl`.
  case noPickle(entries: [String])
  case severalPickles([String])
  case torchScript(entry: String)
  case byteOrder(found: String)
  /// The entry with a storage's bytes is missing, or has another size than the pickle says.
  case missingStorage(entry: String)
  case storageSize(storage: String, expectedBytes: Int, foundBytes: Int)
  /// The data after the pickles of a file without archive.
  case legacy(offset: Int, reason: String)
  /// The outermost value is not a dictionary of tensors.
  case notAStateDict(found: String)
  case noTensors(keys: [String])
  case ambiguous(keys: [String])
  case key(path: String, found: String)
  /// A value of the state dict that is neither a tensor nor plain.
  case value(key: String, found: String)
  case sharedDictionary(key: String)
  case tooDeep(limit: Int)
  case cycle
  case longName(key: String, limit: Int)
  case duplicateName(String)
  /// A tensor repeats its storage so often that reading it would take far more memory than the file.
  case expansion(tensor: String, shape: [Int], limit: Int)
}

extension PyTorchFault: CustomStringConvertible {
  /// The fault in words, without the name of the file.
  package var description: String {
    switch self {
    case .archive(let fault): "ZIP archive: \(fault)"
    case .pickle(let fault): "\(fault)"
    case .noPickle(let entries):
      "a PyTorch archive with 'NAME/data.pkl' expected, a ZIP archive with \(listed(entries)) found"
    case .severalPickles(let names): "one 'NAME/data.pkl' expected, \(listed(names)) found"
    case .torchScript(let entry):
      "a state dict expected, a TorchScript program found (\(quoted(entry))); save model.state_dict() with torch.save instead"
    case .byteOrder(let found): "byte order 'little' expected, \(quoted(found)) found; save it again on a little-endian machine"
    case .missingStorage(let entry): "entry \(quoted(entry)) expected, because a tensor's bytes lie there; none found"
    case .storageSize(let storage, let expected, let found): "storage \(quoted(storage)): \(expected) bytes expected, \(found) found"
    case .legacy(let offset, let reason): "PyTorch file without archive at byte \(offset): \(reason)"
    case .notAStateDict(let found): "a dictionary of tensors expected, \(found) found; save model.state_dict() with torch.save instead"
    case .noTensors(let keys): "a dictionary of tensors expected, one without tensors found; its keys are \(listed(keys))"
    case .ambiguous(let keys):
      "one state dict expected, tensors under each of the keys \(listed(keys)) found; save the one that is meant in a file of its own"
    case .key(let path, let found): "state dict: a key that is text expected under \(quoted(path)), \(found) found"
    case .value(let key, let found): "state dict: a tensor expected under \(quoted(key)), \(found) found"
    case .sharedDictionary(let key): "state dict: the dictionary under \(quoted(key)) is also found under another key"
    case .tooDeep(let limit): "state dict: nested deeper than \(limit) levels"
    case .cycle: "the value contains itself"
    case .longName(let key, let limit): "state dict: a name of at most \(limit) bytes expected, \(quoted(key)) found"
    case .duplicateName(let name): "two tensors are called \(quoted(name))"
    case .expansion(let tensor, let shape, let limit):
      "tensor \(quoted(tensor)): shape \(shown(shape)) repeats the stored elements into more than \(limit) bytes; save a contiguous copy"
    }
  }
}

/// At most eight of the names.
private func listed(_ names: [String]) -> String {
  guard !names.isEmpty else { return "nothing" }
  return names.prefix(8).map(quoted).joined(separator: ", ") + (names.count > 8 ? " and \(names.count - 8) more" : "")
}
