package import DibitConversion
package import DibitKernels
internal import DibitModelStore
internal import DibitQuantization

/// A conversion from what a user asks for: the text to calibrate on, if need be, then the model.
package struct ConversionJob {
  /// The progress of a conversion.
  package enum Progress: Equatable, Sendable {
    /// Tokens of the text to calibrate or to measure on that the source has written, of all.
    case writingText(tokens: Int, total: Int)
    /// Steps of the training of scales that are done, of all.
    case trainingScales(step: Int, total: Int)
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
    let scheme = try options.like.map { path throws(DibitError) in try Self.scheme(of: path) }
    var converter = Converter(source: source, output: output, options: try options.engineOptions(like: scheme), on: compute)
    if options.like == nil {
      let (choosesLevels, calibrates) = (options.levels == nil, options.rounding != .nearest)
      do throws(ConversionError) {
        converter = try converter.suited(choosesLevels: choosesLevels, calibrates: calibrates)
      } catch { throw DibitError(error) }
    }
    self.converter = converter
  }

  private static func scheme(of path: String) throws(DibitError) -> QuantizationScheme {
    let model: ModelSource
    do throws(ModelStoreError) { model = try ModelSource.open(path) } catch { throw DibitError(error) }
    guard let scheme = model.scheme else { throw DibitError(.invalidData, "'\(path)': expected a converted model, found a checkpoint") }
    return scheme
  }

  /// Forecasts the output without writing it, until `progress` returns false.
  package func forecast(progress: (Progress) -> Bool) throws -> ConversionReport {
    guard converter.measures else { return try converter.forecast() }
    try converter.check()
    return try converter.forecast(measuringOn: try text(progress), calibrates: options.rounding != .nearest) { progress(.converting($0)) }
  }

  /// Converts, until `progress` returns false.
  package func run(progress: (Progress) -> Bool) throws -> ConversionReport {
    guard options.rounding != .nearest || converter.measures else { return try converter.run { progress(.converting($0)) } }
    // Before minutes of work: what the conversion would refuse.
    try converter.check()
    guard case .calibrated(let texts, let effort) = options.rounding else {
      return try converter.run(measuringOn: try text(progress)) { progress(.converting($0)) }
    }
    let store = try converter.calibrationStore(ownText: texts.isEmpty, resumes: options.resumes)
    let text = try text(keptIn: store, progress)
    var conversion = try converter.prepare(calibratingOn: text, measuringOn: text, keepingIn: store) { progress(.converting($0)) }
    if effort != .quick {
      try ScaleTraining(source: source, windows: text, compute: compute).run(on: &conversion, keptIn: store) {
        progress(.trainingScales(step: $0, total: $1))
      }
    }
    return try conversion.write { progress(.converting($0)) }
  }

  /// The text to calibrate on, which is kept; what the source wrote before is not written again.
  private func text(keptIn store: CalibrationStore, _ progress: (Progress) -> Bool) throws -> [[Int32]] {
    let kept = try store.windows()
    guard case .calibrated(let texts, _) = options.rounding, !texts.isEmpty else {
      do { return try text(behind: kept, keep: store.keep(_:behind:), progress) } catch ConversionError.interrupted {
        throw try store.windows().isEmpty ? ConversionError.interrupted : .interruptedCalibration(directory: store.path, layers: 0)
      }
    }
    let text = try text(progress)
    if kept.isEmpty { try store.keep(text) }
    guard kept.isEmpty || text == kept else { throw ConversionError.otherConversion(directory: store.path) }
    return text
  }

  /// The text to calibrate or to measure on: bits are measured on a part of what rounding is calibrated on.
  private func text(
    behind kept: [[Int32]] = [], keep: ([[Int32]], Int) throws -> Void = { _, _ in }, _ progress: (Progress) -> Bool
  ) throws -> [[Int32]] {
    let count = options.rounding == .nearest ? CalibrationText.measuredWindows : CalibrationText.windows(bits: options.bits)
    let text = try CalibrationText(for: source, tokenizer: options.tokenizer, windows: count)
    if case .calibrated(let texts, _) = options.rounding, !texts.isEmpty { return try text.read(texts) }
    guard
      let windows = try text.write(
        behind: kept, keep: keep, on: compute, progress: { progress(.writingText(tokens: $0, total: $1)) })
    else { throw ConversionError.interrupted }
    return windows
  }
}
