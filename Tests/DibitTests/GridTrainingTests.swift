import Dibit
import DibitTestSupport
import Testing

@Suite struct GridTrainingTests {
  private let scratch = Scratch()

  private func prepare() async throws -> (source: String, model: String, text: String) {
    let source = try TinyCheckpoint.llama(context: 64).write(to: scratch, "floats")
    var options = Conversion.Options(bits: 2)
    options.checks = false
    let model = try await Model.convert(source, to: scratch("start"), options: options).value.path
    let text = String(repeating: TinyCheckpoint.sentences.joined(separator: ". ") + "\n", count: 200)
    return (source, model, try scratch.write(text, to: "text/a.txt"))
  }

  @Test("a converted model comes nearer to its floats, tells its steps, and is used")
  func trains() async throws {
    let (source, model, text) = try await prepare()
    var options = GridTraining.Options()
    (options.steps, options.settings) = (30, ["batch_size=4", "max_seq_length=24", "validation_interval=10", "learning_rate=0.02"])
    let job = Model.trainOnGrid(source, from: model, texts: [text], to: scratch("trained"), options: options)
    var (losses, looks): ([Double], [Double]) = ([], [])
    for try await case .training(let event) in job {
      switch event {
      case .step(let step): losses.append(step.loss)
      case .validated(let validation): looks.append(validation.loss)
      default: break
      }
    }
    let report = try await job.value
    #expect(losses.count == 30 && looks.count == 3 && looks[2] < losses[0])
    #expect(report.steps == 30 && report.tokens == 30 * 4 * 25 && report.validationDivergence == looks[2])
    let trained = try await Model(at: report.path)
    #expect(trained.facts.bits == 2 && trained.facts.digest != nil)
    #expect(try await trained.perplexity(of: text).value.perplexity.isFinite)
  }

  @Test("without text the float model writes it, which is told")
  func writes() async throws {
    let (source, model, _) = try await prepare()
    var options = GridTraining.Options()
    (options.steps, options.settings) = (3, ["batch_size=4", "max_seq_length=24"])
    let job = Model.trainOnGrid(source, from: model, to: scratch("trained"), options: options)
    var written: [Double] = []
    for try await case .writing(let fraction) in job { written.append(fraction) }
    #expect(written.count > 10 && written == written.sorted() && written.last == 1)
    #expect(try await job.value.steps == 3)
  }

  @Test("an adapter learns to bring the model nearer, inside of it or beside, and texts are scored under it")
  func recovers() async throws {
    let (source, model, text) = try await prepare()
    var options = Recovery.Options()
    (options.steps, options.rank) = (30, 4)
    options.settings = ["batch_size=4", "max_seq_length=24", "validation_interval=10", "learning_rate=0.02"]
    let job = Model.recover(model, from: source, texts: [text], to: scratch("recovery"), options: options)
    var losses: [Double] = []
    for try await case .training(.step(let step)) in job { losses.append(step.loss) }
    let inside = try await Model(at: try await job.value.path)
    var response = Response.Options()
    response.maximumTokens = 3
    #expect(try await inside.generate(.text("the soup"), options: response).value.tokens.count > 0)
    options.bits = nil
    let report = try await Model.recover(model, from: source, texts: [text], to: scratch("adapter"), options: options).value
    #expect(losses.count == 30 && report.steps == 30 && report.validationDivergence ?? .infinity < losses[0])
    let adapter = try await Model(at: model).adapter(at: report.path)
    #expect(adapter.labels.isEmpty)
    options.rank = 0
    let refused = await failure { [options] () throws(DibitError) in
      try await Model.recover(model, from: source, to: scratch("out"), options: options).value
    }
    #expect(refused?.option == "rank")
  }

  @Test("what no run can be made with is told")
  func refused() async throws {
    var options = GridTraining.Options()
    (options.overwrites, options.resumes) = (true, true)
    let both = await failure { [options] () throws(DibitError) in
      try await Model.trainOnGrid("floats", from: "model", texts: ["text"], to: scratch("out"), options: options).value
    }
    #expect(both?.kind == .invalidArgument)
    (options.overwrites, options.resumes, options.steps) = (false, false, 0)
    let none = await failure { [options] () throws(DibitError) in
      try await Model.trainOnGrid("floats", from: "model", texts: ["text"], to: scratch("out"), options: options).value
    }
    #expect(none == DibitError(.invalidArgument, option: "steps", "expected at least 1, found 0"))
  }
}
