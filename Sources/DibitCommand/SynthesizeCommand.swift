internal import ArgumentParser
internal import Dibit
internal import DibitDataset

struct SynthesizeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "synthesize",
    abstract: "Write texts like labelled ones, for a teacher to label.",
    discussion: """
      Example: dibit synthesize ./llama-float --data ./notes --output written.jsonl
      Example: dibit train ./llama-2bit --data ./notes --teacher ./llama-float --teacher-adapter ./notes-float --unlabelled-texts \
      written.jsonl -o notes-2bit

      'dibit train --teacher ./llama-float --written-texts 1000' does both, and trains the teacher's adapter too.

      The model reads up to ten texts of a label, a list, and goes on with the list; labels take turns. What training with the same seed \
      holds out is not read. One JSON object on each line: the text, the label of those that were read, and the number of the attempt. \
      Texts that the data has, that come again or that find no end are passed over.

      A job with --output that was interrupted goes on with --resume, to the same bytes. A hidden file beside the output, .NAME.job, says \
      which model, data and options it was begun with; --resume refuses others.
      """)

  @Argument(help: "The model, converted or not; of one in floats the texts are better.") var model: String
  @Option(help: ArgumentHelp("The labelled texts: a folder or a file.", valueName: "path")) var data: String
  @Option(help: ArgumentHelp("How many texts to write.", valueName: "n")) var limit = Synthesis.Options().limit
  @Option(help: "Higher is more random.") var temperature = Synthesis.Options().temperature
  @Option(help: "Choose among the most likely tokens that reach this probability together.") var topP = Synthesis.Options().topP
  @Option(help: "The seed of everything random: that of the training to come.") var seed: UInt64 = 0
  @Option(name: .shortAndLong, help: "The file to write to, line by line, instead of standard output.") var output: String?
  @Flag(help: "Go on behind what an interrupted job wrote into the output; begin where there is none.") var resume = false
  @Flag(help: "Replace an existing output.") var overwrite = false
  @OptionGroup var rows: RowArguments
  @OptionGroup var compute: ComputeOptions

  private var options: Synthesis.Options {
    var options = Synthesis.Options()
    (options.limit, options.temperature, options.topP, options.seed) = (limit, temperature, topP, seed)
    return options
  }

  func validate() throws {
    try checkOptions(options.check)
    if resume || overwrite, output == nil { throw ValidationError("--\(resume ? "resume" : "overwrite"): expected --output beside it") }
    if resume, overwrite { throw ValidationError("--resume: expected either it or --overwrite, found both") }
  }

  func run() throws {
    Interrupt.listen()
    let writing = TextWriting(
      model: model, data: data, options: options, output: output, resumes: resume, overwrites: overwrite)
    try writing.run(like: rows.readLabelled(data), on: compute.makeScoringCompute())
  }
}
