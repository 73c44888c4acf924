internal import DibitCheckpoint
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
internal import DibitTensor

extension Converter {
  /// Forecasts the output of ``run(progress:)`` and about how long it would take, with the failures that it would begin with; nothing is
  /// written.
  ///
  /// The report's tensors have no errors, because nothing is rounded, its size has no header, and there is no digest. Its seconds are those
  /// of one piece of the largest tensor, scaled to all, behind those of what comes before: without the time of writing.
  ///
  /// - Parameters:
  ///   - measured: text in tokens that the options' budget, where there is one, is spent by.
  ///   - calibrates: True where rounding would be calibrated.
  ///   - seconds: the time of calibration and measurement.
  package func forecast(
    measuringOn measured: [[Int32]] = [], calibrates: Bool = false, behind seconds: Double = 0,
    progress: (ConversionProgress) -> Bool = { _ in true }
  ) throws(ConversionError) -> ConversionReport {
    _ = try checkedPlan()
    let (converter, choices) = try choosingBits(on: measured, calibrates: calibrates, progress)
    let plan = try ConversionPlan(source: source, tokenizer: options.tokenizer, scheme: converter.options.scheme)
    var report = ConversionReport(planned: plan, source: source, output: output)
    report.choices = choices
    report.outputBytes = report.tensors.reduce(0) { $0 + $1.bytes }
    report.seconds = seconds + (try secondsPerByte(plan) * Double(report.sourceBytes))
    return report
  }

  /// Returns the seconds to read and round a byte of the source, from a piece of the largest tensor.
  private func secondsPerByte(_ plan: ConversionPlan) throws(ConversionError) -> Double {
    guard let tensor = plan.tensors.max(by: { $0.sourceBytes < $1.sourceBytes }), let rows = pieces(of: tensor).first else { return 0 }
    let checkpoint = plan.checkpoint
    let (clock, start) = (ContinuousClock(), ContinuousClock.now)
    do throws(CheckpointError) {
      if let grid = tensor.stored.format.grid {
        var packed = PackedRows(capacity: rows.count, columns: tensor.columns, grid: grid)
        var error = GridQuantization.Error()
        try GridQuantization.encode(
          rows: rows, into: &packed, error: &error, on: compute,
          read: { (part, values) throws(CheckpointError) in try checkpoint.readRows(tensor.name, rows: part, into: &values) })
      } else {
        var piece = Matrix(rows: rows.count, columns: tensor.columns)
        try checkpoint.readRows(tensor.name, rows: rows, into: &piece)
      }
    } catch { throw .checkpoint(error) }
    let bytes = rows.count * (tensor.sourceBytes / max(tensor.rows, 1))
    return start.duration(to: clock.now) / .seconds(1) / Double(max(bytes, 1))
  }
}
