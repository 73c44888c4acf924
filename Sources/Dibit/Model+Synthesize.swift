internal import DibitDataset
internal import DibitModelStore

extension Model {
  /// Writes texts like the labelled ones of a folder or file, for a teacher to label and an adapter to learn from:
  /// ``AdapterTraining/Teacher/unlabelledTexts``. They come of lists of up to ten texts of one label, with which the model goes on. The job tells
  /// each text as it comes; its value is all of them, which may be fewer than were asked for where the model repeats itself.
  ///
  /// ```swift
  /// let written = try await model.synthesize(like: "notes").value
  /// ```
  ///
  /// - Parameters:
  ///   - data: The labelled texts, as ``train(on:to:options:)`` reads them. What training holds out is not read.
  ///   - options: How many texts, and how tokens are chosen.
  /// - Returns: The job. It fails with ``DibitError`` for data that cannot be read or has no labels.
  public func synthesize(
    like data: String, options: Synthesis.Options = Synthesis.Options()
  ) -> Job<Synthesis.Text, [Synthesis.Text]> {
    Job(on: worker) { [stored, runtime] report in
      try options.check()
      let dataset = try Dataset.read(data, rows: RowOptions(textColumn: options.textColumn, labelColumn: options.labelColumn))
      var job = try SynthesisJob(stored, like: dataset, at: data, options: options, on: runtime.compute(for: .scoring))
      var texts: [Synthesis.Text] = []
      let attempts = try job.run { written in
        texts += written
        return written.allSatisfy { report($0) } && !report.isCancelled
      }
      guard attempts != nil, !report.isCancelled else { throw DibitError.cancelled }
      return texts
    }
  }
}
