package import DibitFiles
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
  /// The training that learns from it.
  package let options: AdapterTraining.Options

  /// Finds what is lacking; nil for nothing.
  ///
  /// - Parameters:
  ///   - recipe: What ``AdapterTraining/Options/readRecipe()`` found.
  ///   - output: The directory of the adapter that learns.
  package init?(for options: AdapterTraining.Options, recipe: TrainingRecipe?, output: String) {
    guard var teacher = options.teacher, teacher.adapter == nil || teacher.writtenTexts != nil else { return nil }
    model = teacher.model
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
      (writing.limit, writing.seed) = (limit, options.engineOptions(recipe).optimization.seed)
      texts = (beside(".written.jsonl"), writing)
      (teacher.unlabelledTexts, teacher.unlabelledLimit) = (beside(".written.jsonl"), limit)
    } else {
      texts = nil
    }
    var taught = options
    taught.teacher = teacher
    self.options = taught
  }

  /// Finds out before the work that the adapter may not be created. One that is there may be that of this very training, which is gone on with.
  package func check(_ output: String, inputs: JobInputs) throws {
    guard !(options.resumes && isDirectory(output)) else { return }
    var destination = AdapterTrainingJob.Output(output, inputs: inputs)
    destination.overwrites = options.overwrites
    try destination.check()
  }
}
