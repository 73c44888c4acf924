import Dibit
import DibitTestSupport
import Foundation
import Testing

@Suite struct PretrainingTests {
  private let scratch = Scratch()

  private func recipe(steps: Int) throws -> Pretraining.Options {
    try scratch.write(TinyCheckpoint.sentences.joined(separator: ". "), to: "text/a.txt")
    try scratch.write(TinyCheckpoint.sentences[1], to: "held/b.txt")
    return Pretraining.Options(
      recipe: try scratch.write(
        """
        data: \(scratch("text"))
        validation_data: \(scratch("held"))
        model: {vocab_size: 300, hidden_dim: 16, num_layers: 2, num_heads: 2, num_kv_heads: 1, max_position_embeddings: 64}
        steps: \(steps)
        batch_size: 2
        max_seq_length: 16
        """, to: "recipe.yaml"))
  }

  @Test("a model is trained from text, tells its steps, and is converted and used")
  func trains() async throws {
    let job = Model.pretrain(to: scratch("base"), options: try recipe(steps: 6))
    var (tokenizer, steps, read) = (0, [Int](), Set<Bool>())
    for try await event in job {
      switch event {
      case .tokenizer(let size): tokenizer = size
      case .reading(let fraction, let isHeldOut): if fraction == 1 { read.insert(isHeldOut) }
      case .training(.step(let step)): steps.append(step.step)
      case .training, .note, .writing: break
      }
    }
    let report = try await job.value
    #expect(tokenizer == 300 && read == [true, false] && steps == Array(1...6))
    #expect(report.steps == 6 && report.tokens > 0 && report.trainingLoss > 0 && report.validationLoss ?? 0 > 0)
    _ = try await Model.convert(report.path, to: scratch("model")).value
    let model = try await Model(at: scratch("model"))
    #expect(model.facts.architecture == "afm7" && model.facts.layers == 2)
    #expect(try await !model.generate(.text("the goal"), options: .init(maximumTokens: 4)).value.tokens.isEmpty)
  }

  @Test("a training that was cancelled goes on to the same bytes")
  func resumes() async throws {
    // Long enough that it is not over before its end is asked for, on a machine that does much else.
    var options = try recipe(steps: 1_500)
    let whole = try await Model.pretrain(to: scratch("whole"), options: options).value
    let job = Model.pretrain(to: scratch("again"), options: options)
    for try await case .training(.step) in job { break }
    job.cancel()
    let fault = await failure { () throws(DibitError) in try await job.value }
    #expect(try #require(fault).kind == .cancelled)
    options.resumes = true
    let again = try await Model.pretrain(to: scratch("again"), options: options).value
    #expect(again.steps == whole.steps && again.trainingLoss == whole.trainingLoss)
    let file = "/model.safetensors"
    #expect(try Data(contentsOf: URL(filePath: again.path + file)) == Data(contentsOf: URL(filePath: whole.path + file)))
    (options.resumes, options.steps) = (false, 0)
    let none = await failure { [options] () throws(DibitError) in
      try await Model.pretrain(to: scratch("none"), options: options).value
    }
    #expect(none == DibitError(.invalidArgument, option: "steps", "expected at least 1, found 0"))
  }
}
