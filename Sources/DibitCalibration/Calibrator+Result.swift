package import DibitFiles
package import DibitKernels
package import DibitTensor

/// The reasons why a calibration has no result.
package enum CalibrationError<Source: Error>: Error {
  /// A weight could not be had, or a part not be kept.
  case source(Source)
  /// The inputs of a layer are not finite.
  case notFinite(tensor: String)
  /// A file for what would take too much memory could not be created, written or read.
  case spill(FileError)
  /// It was asked to stop.
  case stopped
}

extension Calibrator {
  /// The settings of a calibration.
  package struct Options: Equatable, Sendable {
    /// The share of its own moment by which each input's moment is raised.
    package var damping: Float = 0.01
    /// The share of the mean by which the moment of the gradients of each output is raised.
    package var outputDamping: Float = 0.5
    /// Sweeps of coordinate descent behind the first choice of codes.
    package var sweeps = 4
    /// The share of what its inputs lost that a layer makes up for.
    package var inputCorrection: Float = 0.5
    /// The share of what the residual stream lost that a layer which adds to it makes up for.
    package var streamCorrection: Float = 0.5
    /// Rows of a pass.
    package var rows = 2048
    /// Tokens that tell what the output head reads.
    package var headTokens = 8192
    /// The share of the mean moment of what the head reads by which each of its inputs is raised where the head is the embedding too: a row
    /// of that is read alone, and all of its elements alike.
    package var embeddingShare: Float = 0.15
    /// The most bytes that the residual streams of both models, and then those of gradients, may take in memory.
    package var mostStreamBytes = 512 << 20
    /// The bytes from which on no more memory is set aside for what last layers of branches read. Codes of one byte take little more than half of it.
    package var mostInputBytes = 512 << 20
    /// The training of each layer behind its rounding; nil for none.
    package var training: TrainingOptions?

    /// The defaults.
    package init() {}
  }

  /// A linear layer or table that was rounded.
  package struct Rounded: Sendable {
    /// Its weight on the grid.
    package let weight: Weight
    /// The loss from rounding, each input counted by its second moments; nil where it was trained since.
    package let error: GridQuantization.Error?

    /// A weight that was rounded, and what that lost.
    package init(weight: Weight, error: GridQuantization.Error?) { (self.weight, self.error) = (weight, error) }
  }

  /// The result of a calibration.
  package struct Result: Sendable {
    /// The matrices that were rounded, by the index of the parameter.
    package internal(set) var rounded: [Int: Rounded] = [:]
    /// Layers that were trained, by their number.
    package internal(set) var trained: [Int: TrainedLayer] = [:]

    /// The result of some parts, none at first.
    package init(rounded: [Int: Rounded] = [:], trained: [Int: TrainedLayer] = [:]) { (self.rounded, self.trained) = (rounded, trained) }

    /// Adds the result of other parts.
    mutating func merge(_ other: Result) {
      rounded.merge(other.rounded) { $1 }
      trained.merge(other.trained) { $1 }
    }
  }

  /// A part of a model that is rounded at a time.
  package enum Part: Hashable, Sendable {
    /// The embedding and the output head.
    case tables
    /// A layer, by its number.
    case layer(Int)
  }

  /// The progress of a calibration.
  package struct Progress: Equatable, Sendable {
    /// The share that is done, by about how long it takes, from 0 to 1.
    package let fraction: Double
    /// Layers that are done.
    package let layers: Int
    /// All layers.
    package let totalLayers: Int
  }
}
