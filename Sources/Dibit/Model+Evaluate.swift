internal import DibitDataset
internal import DibitEvaluation

extension Model {
  /// Asks the model, adapters of it, other models and cheap classifiers about the same labelled texts, and tells which are better beyond noise.
  ///
  /// ```swift
  /// let report = try await model.evaluate(on: "notes", adapters: [adapter]).value
  /// print(report.verdict)
  /// ```
  ///
  /// - Parameters:
  ///   - data: The labelled texts: a folder or a file, as for ``train(on:to:options:)``.
  ///   - adapters: Adapters of this model, or of `others`; they must have learnt the same labels and instruction.
  ///   - others: Other models, such as the same one in floats.
  ///   - options: What is asked, of which split, and what is computed beside it.
  /// - Returns: The job. It fails with ``DibitError`` where there are no texts to evaluate, where they have labels that adapters do not know, and
  ///   where they were trained on.
  public func evaluate(
    on data: String, adapters: [Adapter] = [], comparing others: [Model] = [], options: Evaluation.Options = Evaluation.Options()
  ) -> Job<Evaluation.Progress, Evaluation.Report> {
    Job(on: Worker("evaluation"), buffered: 64) { [stored, runtime] report in
      guard adapters.isEmpty || options.instruction == nil && options.promptForm == nil else {
        throw DibitError(
          .invalidArgument, option: "adapters", "are asked as they were trained; expected neither 'instruction' nor 'promptForm'")
      }
      let line = try EvaluationLine([stored] + others.map(\.stored), adapters: adapters.map(\.opened))
      let dataset = try Dataset.read(data, rows: RowOptions(textColumn: options.textColumn, labelColumn: options.labelColumn))
      guard dataset.kind == .labelled else { throw DatasetError.notLabelled(path: data) }
      let job = try EvaluationJob(line, dataset, at: data, options: options, note: { _ in })
      let found = try job.run(on: runtime.compute(for: .scoring), keepsTexts: false) { progress in
        report(Evaluation.Progress(title: progress.title, done: progress.done, total: progress.total))
      }
      return Evaluation.Report(report: found.report)
    }
  }
}
