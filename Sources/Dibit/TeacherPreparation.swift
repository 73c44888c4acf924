package import DibitDataset
package import DibitFiles
internal import DibitJSON
internal import DibitModelStore
package import DibitRecipe
internal import DibitTraining

/// The things that a teacher lacks before an adapter learns from it, where they are made, and the training when they are there.
package struct TeacherPreparation: Sendable {
  /// The teacher's model, as the caller named it.
  package let model: String
  /// The file of texts that its model writes, and how; nil where none are asked for.
  package let texts: (path: String, options: Synthesis.Options)?
  /// The directory of its adapter, and how that is trained; nil where it has one.
  package let adapter: (path: String, options: AdapterTraining.Options)?
  /// The training that learns from it; of a search for settings the teacher's adapter has the whole.
  package let options: AdapterTraining.Options
  private let seed: UInt64

  /// Finds what is lacking; nil for nothing.
  ///
  /// - Parameters:
  ///   - recipe: What ``AdapterTraining/Options/readRecipe()`` found.
  ///   - output: The directory of the adapter that learns.
  package init?(for options: AdapterTraining.Options, recipe: TrainingRecipe?, output: String) {
    guard var teacher = options.teacher, teacher.adapter == nil || teacher.writtenTexts != nil else { return nil }
    (model, seed) = (teacher.model, options.engineOptions(recipe).optimization.seed)
    let beside = { (ending: String) in outputPath(output) + ending }
    if teacher.adapter == nil {
      var own = options
      (own.teacher, own.start) = (nil, nil)
      adapter = (beside(".teacher"), own)
      teacher.adapter = beside(".teacher")
    } else {
      adapter = nil
    }
    if let limit = teacher.writtenTexts {
      var writing = Synthesis.Options()
      // What training holds out is not read.
      (writing.limit, writing.seed) = (limit, seed)
      texts = (beside(".written.jsonl"), writing)
      (teacher.unlabelledTexts, teacher.unlabelledLimit) = (beside(".written.jsonl"), limit)
    } else {
      texts = nil
    }
    var taught = options
    (taught.teacher, taught.budget) = (teacher, nil)
    self.options = taught
  }

  /// The training that learns from a teacher that lacks nothing any more. Where a search has found what share of words helps the teacher,
  /// which `note` is told, the new adapter has it too.
  package func training(note: (String) -> Void) throws -> AdapterTraining.Options {
    guard let adapter, adapter.options.budget != nil, options.variation.wordShare,
      let share = try StoredAdapter.readManifest(adapter.path)["words"]?["share"]?.double
    else { return options }
    note("a classifier of words gets a share of \(share) in answers, as the search found for the teacher")
    var options = options
    options.wordShare = share
    return options
  }

  /// Finds out before the work that the adapter may not be created, or that there are no texts to label beside the `data`. An adapter that is
  /// there may be that of this very training, which is gone on with.
  package func check(_ output: String, inputs: JobInputs, beside data: @autoclosure () throws -> Dataset) throws {
    guard !(options.resumes && isDirectory(output)) else { return }
    var destination = AdapterTrainingJob.Output(output, inputs: inputs)
    destination.overwrites = options.overwrites
    try destination.check()
    guard texts == nil, let teacher = options.teacher, teacher.unlabelledTexts != nil else { return }
    _ = try AdapterTeacher.texts(for: teacher, beside: data(), seed: seed, textColumn: options.textColumn)
  }
}
