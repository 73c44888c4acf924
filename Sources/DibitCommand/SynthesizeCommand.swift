internal import ArgumentParser
internal import Dibit
internal import DibitDataset
internal import DibitFailure
internal import DibitFiles
internal import DibitModelStore

struct SynthesizeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "synthesize",
    abstract: "Write texts like labelled ones, for a teacher to label.",
    discussion: """
      Example: dibit synthesize ./llama-float --data ./notes --output written.jsonl
      Example: dibit train ./llama-2bit --data ./notes --teacher ./llama-float --teacher-adapter ./notes-float --unlabelled-texts \
      written.jsonl -o notes-2bit

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
    let compute = try compute.makeScoringCompute()
    let model = try OpenedModels.open(model)
    var job = try SynthesisJob(model, like: rows.readLabelled(data), at: data, options: options, on: compute)
    var sink = try SynthesisSink(
      output: output, limit: limit, resume: resume, overwrite: overwrite, inputs: JobInputs([self.model, data]), identity: job.identity)
    for finding in sink.findings { Terminal.note(finding) }
    if !sink.kept.isEmpty { Terminal.write("going on behind \(counted(sink.kept.count, "text"))\n") }
    try sink.begin()
    var (line, count, isRead) = (ProgressLine("writing texts"), sink.kept.count, true)
    let attempts = try job.run(behind: sink.kept) { texts in
      isRead = try sink.write(texts)
      count += texts.count
      line.update(count, of: limit, counted(count))
      return isRead && !Interrupt.isRequested
    }
    line.finish()
    guard isRead else { return }
    try sink.finish()
    guard let attempts else {
      let goesOn = output == nil ? "" : "; the same command with --resume\(overwrite ? " instead of --overwrite" : "") goes on"
      throw Failure(.interrupted, "interrupted after \(counted(count))\(goesOn)")
    }
    guard count > 0 else { throw Failure(.badData, "'\(data)': the model wrote no text like these; use a larger model") }
    if count < limit {
      Terminal.note(
        "\(counted(count, "text")) and not \(grouped(limit)) in \(counted(attempts, "attempt")): the rest was there already, or had no end")
    }
    if let output { Terminal.wrote(output) }
  }
}
