internal import ArgumentParser
internal import Dibit
internal import DibitFailure

/// Options of learning from the answers of another model, beside the labels.
struct TeacherArguments: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Learn the answers of this model, usually one of floats with the same tokenizer, beside the labels.", valueName: "model"))
  var teacher: String?
  @Option(
    help: ArgumentHelp(
      "The teacher's adapter: its labels and prompt are those of the new one. Without it one is trained first, into OUTPUT.teacher.",
      valueName: "adapter"))
  var teacherAdapter: String?
  @Option(help: ArgumentHelp("The part that labels have in what is learnt beside a teacher, 0 to 0.99.", valueName: "share"))
  var labelShare: Double?
  @Option(
    help: ArgumentHelp(
      "Texts that nobody has labelled, read as predict reads them: the teacher labels them, and they are learnt from beside the others.",
      valueName: "path"))
  var unlabelledTexts: String?
  @Option(help: ArgumentHelp("The most unlabelled texts to learn from; of more a seeded draw takes as many.", valueName: "n"))
  var unlabelledLimit: Int?
  @Option(
    help: ArgumentHelp(
      "Where there are none: texts that the teacher's model writes like the labelled ones, into OUTPUT.written.jsonl, and then labels.",
      valueName: "n"))
  var writtenTexts: Int?

  func validate() throws {
    let needing = [
      ("teacher-adapter", teacherAdapter != nil), ("label-share", labelShare != nil), ("unlabelled-texts", unlabelledTexts != nil),
      ("written-texts", writtenTexts != nil),
    ]
    for (name, isGiven) in needing where isGiven && teacher == nil {
      throw ValidationError("--\(name): expected beside --teacher, found without one")
    }
    guard unlabelledLimit == nil || unlabelledTexts != nil else {
      throw ValidationError("--unlabelled-limit: expected beside --unlabelled-texts, found without them")
    }
  }

  /// The same for the library; nil without a teacher.
  var options: AdapterTraining.Teacher? {
    guard let teacher else { return nil }
    var options = AdapterTraining.Teacher(model: teacher, adapter: teacherAdapter)
    if let labelShare { options.labelShare = labelShare }
    if let unlabelledLimit { options.unlabelledLimit = unlabelledLimit }
    (options.unlabelledTexts, options.writtenTexts) = (unlabelledTexts, writtenTexts)
    return options
  }
}
