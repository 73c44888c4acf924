package import DibitCheckpoint
package import DibitFailure
package import DibitFiles
package import DibitModelStore

/// The reasons for which a checkpoint could not be converted.
package enum ConversionError: EngineError, Equatable {
  case source(ModelStoreError)
  case file(FileError)
  case checkpoint(CheckpointError)
  case alreadyConverted(path: String)
  case unknownTensor(String, path: String, architecture: String)
  case notFinite(tensor: String, row: Int, column: Int, value: String)
  case trainedScales(tensor: String, found: String)
  case trainedBits(tensor: String, found: String)
  case notExportable(String)
  case inputsNotFinite(tensor: String)
  case calibratesTrainedScales(tensor: String)
  case noSuchMatrix(String, path: String)
  case budget(SizeBudget, leastBytes: Int, leastBits: Double)
  case interrupted
  // What a calibration keeps.
  case interruptedCalibration(directory: String, layers: Int)
  case incomplete(directory: String, layers: Int)
  case otherConversion(directory: String)
  case scalesDiverged(step: Int, directory: String)
}

extension ConversionError {
  /// One sentence: what, where, what was expected and found.
  package var description: String {
    switch self {
    case .source(let error): "\(error)"
    case .file(let error): "\(error)"
    case .checkpoint(let error): "\(error)"
    case .alreadyConverted(let path): "'\(path)' is a converted model already: convert the checkpoint that it came from"
    case .unknownTensor(let name, let path, let architecture): "'\(path)': tensor '\(name)' belongs to no part of \(architecture)"
    case .notFinite(let tensor, let row, let column, let value):
      "tensor '\(tensor)': the element at [\(row), \(column)] is \(value): the checkpoint is damaged, a converted model could not work"
    case .trainedScales(let tensor, let found):
      "tensor '\(tensor)': scales that were trained for 2 bits can only be kept at 2 bits, and \(found) are asked for: convert with \(optionName("bits")) 2 and \(optionName("levels")) symmetric"
    case .trainedBits(let tensor, let found):
      "config.json: 'w_bits': tensor '\(tensor)' holds trained scales, of which those for 2 bits are supported; found \(found)"
    case .notExportable(let reason): reason
    case .calibratesTrainedScales(let tensor):
      "tensor '\(tensor)' brings scales that were trained, which are kept as they are: convert without \(optionName("calibrate"))"
    case .noSuchMatrix(let name, let path): "'\(path)' has no matrix '\(name)', for which bits are given"
    case .budget(.bytes(let bytes), let least, let bits):
      "\(optionName("size")): \(grouped(bytes)) bytes are asked for, but with as few bits everywhere as may be the weights take \(grouped(least)) (\(Self.raised(bits)) bits per weight over all): ask for as many"
    case .budget(.groups, let least, _): "\(grouped(least)) bytes are the least that the weights take"
    case .budget(.bitsPerWeight(let asked), _, let bits):
      "\(optionName("bits")): \(asked) bits per weight over all are asked for, but with as few everywhere as may be there are \(Self.raised(bits)): ask for as many"
    case .inputsNotFinite(let tensor):
      "tensor '\(tensor)': what the model computes to multiply it with is not finite on the text to calibrate on: the checkpoint is damaged"
    case .interrupted: "interrupted: nothing was written"
    case .interruptedCalibration(let directory, let layers):
      "interrupted: \(layers == 0 ? "the text so far is" : "the text and \(counted(layers, "layer")) are") kept in '\(directory)': pass \(optionName("resume")) to go on"
    case .incomplete(let directory, let layers):
      "'\(directory)' holds a conversion that was stopped after \(counted(layers, "layer")): pass \(optionName("resume")) to go on, or \(optionName("overwrite")) to begin anew"
    case .otherConversion(let directory):
      "'\(directory)' holds a conversion of another source, in another way, on another text or by another version: convert as before to go on, or pass \(optionName("overwrite")) instead of \(optionName("resume")) to begin anew"
    case .scalesDiverged(let step, let directory):
      "step \(step): the training of scales diverged; the layers as they were rounded are kept in '\(directory)': pass \(optionName("effort")) quick and \(optionName("resume")) to do without it"
    }
  }

  /// Bits with two digits behind the point, rounded up: as many do.
  private static func raised(_ bits: Double) -> Double { (bits * 100).rounded(.up) / 100 }

  /// The kind of failure.
  package var kind: FailureKind {
    switch self {
    case .interrupted, .interruptedCalibration: .interrupted
    case .incomplete: .cannotCreate
    case .scalesDiverged: .failedRun
    default: cause?.kind ?? .badData
    }
  }

  /// The failure of the source, of a file or of a checkpoint.
  package var cause: (any EngineError)? {
    switch self {
    case .source(let error): error
    case .file(let error): error
    case .checkpoint(let error): error
    default: nil
    }
  }
}
