package import DibitConversion
package import DibitKernels

/// A conversion from what a user asks for: the text to calibrate on, if need be, then the model.
package struct ConversionJob {
  /// The progress of a conversion.
  package enum Progress: Equatable, Sendable {
    /// Tokens of the text to calibrate on that the source has written, of all.
    case writingText(tokens: Int, total: Int)
    /// The conversion itself.
    case converting(ConversionProgress)
  }

  private let source: String
  private let options: Conversion.Options
  private let converter: Converter
  private let compute: Compute

  /// The conversion of a checkpoint to a model directory.
  package init(_ source: String, to output: String, options: Conversion.Options, on compute: Compute) throws(DibitError) {
    (self.source, self.options, self.compute) = (source, options, compute)
    converter = Converter(source: source, output: output, options: try options.engineOptions(), on: compute)
  }

  /// Forecasts the output without writing it.
  package func forecast() throws -> ConversionReport { try converter.forecast() }

  /// Converts, until `progress` returns false.
  package func run(progress: (Progress) -> Bool) throws -> ConversionReport {
    var windows: [[Int32]]?
    if case .calibrated(let texts) = options.rounding {
      // Before minutes of work: what the conversion would refuse.
      try converter.check()
      let text = try CalibrationText(for: source, tokenizer: options.tokenizer, bits: options.bits)
      windows =
        texts.isEmpty ? try text.write(on: compute) { progress(.writingText(tokens: $0, total: $1)) } : try text.read(texts)
      guard windows != nil else { throw ConversionError.interrupted }
    }
    return try converter.run(calibratingOn: windows) { progress(.converting($0)) }
  }
}
