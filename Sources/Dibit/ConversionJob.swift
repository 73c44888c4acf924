internal import DibitCalibration
package import DibitConversion
package import DibitKernels
internal import DibitModelStore
internal import DibitQuantization

/// A conversion from what a user asks for: the text to calibrate on, if need be, then the model.
package struct ConversionJob {
  /// The progress of a conversion.
  package enum Progress: Equatable, Sendable {
    /// Something that was noticed while a text was read.
    case noticed(String)
    /// The seconds that the work takes about on this machine, but for writing the model: told before it begins.
    case expected(seconds: Double)
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
    guard converter.measures else {
      return try converter.forecast(behind: options.rounding == .nearest ? 0 : expectedSeconds(beside: given(progress).count))
    }
    try converter.check()
    let given = try given(progress)
    let seconds = try expectedSeconds(beside: given.count)
    guard progress(.expected(seconds: seconds)) else { throw ConversionError.interrupted }
    let text = try write(beside: given, progress: progress).windows
    return try converter.forecast(measuringOn: text, calibrates: options.rounding != .nearest, behind: seconds) {
      progress(.converting($0))
    }
  }

  /// Converts, until `progress` returns false.
  package func run(progress: (Progress) -> Bool) throws -> ConversionReport {
    guard options.rounding != .nearest || converter.measures else { return try converter.run { progress(.converting($0)) } }
    // Before minutes of work: what the conversion would refuse.
    try converter.check()
    guard case .calibrated(let texts, let effort) = options.rounding else {
      _ = progress(.expected(seconds: try expectedSeconds(beside: 0)))
      return try converter.run(measuringOn: write(progress: progress).windows) { progress(.converting($0)) }
    }
    let given = try given(progress)
    // What a stopped calibration has done is not counted.
    if !options.resumes { _ = progress(.expected(seconds: try expectedSeconds(beside: given.count))) }
    let store = try converter.calibrationStore(text: given, windows: count, resumes: options.resumes)
    let text = try write(beside: given, keptIn: store, progress)
    let finding = try calibrationText(windows: count).finding(about: text.given, beside: text.own, on: compute)
    if let finding { _ = progress(.noticed(finding)) }
    var conversion = try converter.prepare(calibratingOn: text.windows, keepingIn: store) { progress(.converting($0)) }
    if let length = ScaleTraining.length(effort, converter.scheme, texts) {
      let windows = texts.isEmpty ? text.own : try scaleWindows(length.windowCount, of: texts, beside: text.own)
      let training = ScaleTraining(source: source, windows: windows, length: length, compute: compute)
      try training.run(on: &conversion, keptIn: store) {
        progress(.trainingScales(step: $0, total: $1))
      }
    }
    return try conversion.write { progress(.converting($0)) }
  }

  /// The text to calibrate or to measure on, in windows.
  private struct Text {
    /// The windows of a user.
    let given: [[Int32]]
    /// The windows that the source wrote.
    let own: [[Int32]]

    /// All windows, those of the one evenly among those of the other.
    var windows: [[Int32]] {
      let count = given.count + own.count
      return (0..<count).map { index in
        let before = index * own.count / count
        return (index + 1) * own.count / count > before ? own[before] : given[index - before]
      }
    }
  }

  /// The seconds that all takes about but for the writing of the model, where a user's text has so many windows.
  private func expectedSeconds(beside given: Int) throws -> Double {
    let text = try calibrationText(windows: count)
    var cost = CalibrationCost(text.configuration)
    cost.addWriting(tokens: (count - given) * text.length)
    if converter.measures { cost.addMeasurement() }
    if case .calibrated(let texts, let effort) = options.rounding {
      var rounding = Calibrator.Options()
      if effort == .thorough { rounding.training = Calibrator.TrainingOptions() }
      cost.addRounding(tokens: count * text.length, options: rounding)
      if let length = ScaleTraining.length(effort, converter.scheme, texts) { cost.addScaleTraining(tokens: length.tokens) }
    }
    return cost.seconds(on: compute)
  }

  /// The share of a user's text beside which the source writes the rest: chats come out nearer than on either text alone.
  private static let givenShare = (part: 3, of: 4)

  /// The windows to calibrate or to measure on: bits are measured on a part of what rounding is calibrated on.
  private var count: Int {
    guard case .calibrated(_, let effort) = options.rounding else { return CalibrationText.measuredWindows }
    return CalibrationText.windows(effort)
  }

  /// The windows of the text that a user gave; none where nobody did.
  private func given(_ progress: (Progress) -> Bool) throws -> [[Int32]] {
    guard case .calibrated(let texts, _) = options.rounding, !texts.isEmpty else { return [] }
    return try calibrationText(windows: count * Self.givenShare.part / Self.givenShare.of).read(texts) { _ = progress(.noticed($0)) }
  }

  /// The text to calibrate on; what the source writes of it is kept, and what it wrote before is not written again.
  private func write(beside given: [[Int32]], keptIn store: CalibrationStore, _ progress: (Progress) -> Bool) throws -> Text {
    do {
      return try write(beside: given, behind: store.windows(), keep: store.keep(_:behind:), progress: progress)
    } catch ConversionError.interrupted {
      throw try store.windows().isEmpty ? ConversionError.interrupted : .interruptedCalibration(directory: store.path, layers: 0)
    }
  }

  /// The text to calibrate or to measure on, of which the source writes what a user's lacks.
  private func write(
    beside given: [[Int32]] = [], behind kept: [[Int32]] = [], keep: ([[Int32]], Int) throws -> Void = { _, _ in },
    progress: (Progress) -> Bool
  ) throws -> Text {
    let own = try calibrationText(windows: count - given.count).write(
      behind: kept, keep: keep, on: compute, progress: { progress(.writingText(tokens: $0, total: $1)) })
    guard let own else { throw ConversionError.interrupted }
    return Text(given: given, own: own)
  }

  /// The windows that scales are trained on: of a user's text about as much as the steps read, and what the source wrote as often as it has the
  /// same share again, but twice at the most. The text is read anew, for windows that lie elsewhere: those of the rounding among them did worse,
  /// where it was tried.
  private func scaleWindows(_ count: Int, of texts: [String], beside own: [[Int32]]) throws -> [[Int32]] {
    let written = min(count - count * Self.givenShare.part / Self.givenShare.of, 2 * own.count)
    return try calibrationText(windows: count - written).read(texts) + (0..<written).map { own[$0 % own.count] }
  }

  private func calibrationText(windows: Int) throws -> CalibrationText {
    try CalibrationText(for: source, tokenizer: options.tokenizer, windows: windows)
  }
}
