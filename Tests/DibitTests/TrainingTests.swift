import Dibit
import DibitTestSupport
import Foundation
import Testing

@Suite struct AdapterTrainingTests {
  private func weights(_ adapter: String) throws -> Data { try Data(contentsOf: URL(filePath: adapter + "/adapter_model.safetensors")) }

  @Test("a training tells its steps and validations, and its adapter tags")
  func training() async throws {
    let work = try await Workplace()
    let job = work.model.train(on: work.data, to: work.scratch("adapter"), options: work.quick)
    var (start, steps, validations): (AdapterTraining.Start?, [Int], [Int]) = (nil, [], [])
    for try await event in job {
      switch event {
      case .started(let value): start = value
      case .step(let step): steps.append(step.step)
      case .validated(let validation): validations.append(validation.epoch)
      case .saved, .tried, .preparing, .note: break
      }
    }
    let report = try await job.value
    #expect(start?.totalSteps == 10 && start?.trainingTexts == 20 && steps == Array(1...10))
    #expect(report.steps == 10 && report.trainingLoss > 0 && report.manifest.contains("\"run_sha256\""))
    let adapter = try await work.model.adapter(at: report.path)
    #expect(adapter.labels == Workplace.labels && adapter.rank == 4 && adapter.maximumTokens == 128)
    let texts = ["the soup needs salt", "the rocket left the moon", ""]
    let tagged = try await adapter.tag(texts).value
    #expect(tagged.map(\.index) == [0, 1, 2])
    for text in tagged {
      #expect(Workplace.labels.contains(text.label) && text.tags == [text.label])
      #expect(abs(text.probabilities.reduce(0, +) - 1) < 1e-9)
    }
    // One by one, and from the model alone, as many answers.
    #expect(try await adapter.tag([texts[1]]).value[0].probabilities == tagged[1].probabilities)
    #expect(try await work.model.tag(texts, labels: ["food", "space"]).value.count == 3)
    var options = TagOptions()
    options.threshold = 0
    #expect(try await adapter.tag(texts, options: options).value[0].tags.count == 4)
  }

  @Test("a classifier of words stands beside an adapter, has its share in answers, and is refused when it was changed")
  func words() async throws {
    let work = try await Workplace()
    var options = work.quick
    let plain = try await work.trained("plain", options)
    options.wordShare = 0.8
    let adapter = try await work.trained("adapter", options)
    // It learns beside the adapter, which stays as it is.
    #expect(try weights(adapter.path) == weights(plain.path))
    let texts = ["the soup needs salt", "the rocket left the moon", "the player ran late", "the bank pays the loan"]
    let (without, with) = (try await plain.tag(texts).value, try await adapter.tag(texts).value)
    #expect(with.map(\.label) == ["food", "space", "sport", "money"])
    for (a, b) in zip(without, with) {
      #expect(abs(b.probabilities.reduce(0, +) - 1) < 1e-9 && a.probabilities != b.probabilities)
    }
    // The model's own share: a sum of adapters has no words.
    let sum = try await work.model.adapter(summing: [(adapter, 0.5), (adapter, 0.5)])
    #expect(try await sum.tag(texts).value.map(\.label) == without.map(\.label))

    let file = URL(filePath: adapter.path + "/words.safetensors")
    var bytes = try Data(contentsOf: file)
    #expect(!String(decoding: bytes, as: UTF8.self).contains("soup"), "no word can be read")
    bytes[bytes.count - 1] ^= 1
    try bytes.write(to: file)
    let changed = await failure { () throws(DibitError) in try await work.model.adapter(at: adapter.path) }
    #expect(try #require(changed).description.contains("words.safetensors' was changed: SHA-256 "))
    try FileManager.default.removeItem(at: file)
    #expect(await failure { () throws(DibitError) in try await work.model.adapter(at: adapter.path) } != nil)
  }

  @Test("texts are written like those that are labelled, and may be given to a teacher")
  func synthesis() async throws {
    let work = try await Workplace()
    var options = Synthesis.Options()
    (options.limit, options.temperature, options.topP) = (6, 2, 1)
    let job = work.model.synthesize(like: work.data, options: options)
    var told: [Synthesis.Text] = []
    for try await text in job { told.append(text) }
    let written = try await job.value
    #expect(told == written && written.count == 6 && written.allSatisfy { Workplace.labels.contains($0.label) && !$0.text.isEmpty })
    options.limit = 0
    let fault = await failure { [options] () throws(DibitError) in
      try await work.model.synthesize(like: work.data, options: options).value
    }
    #expect(try #require(fault).kind == .invalidArgument)
  }

  @Test("a teacher that lacks texts and an adapter gets them first, and a cancelled training is gone on with")
  func teaching() async throws {
    let work = try await Workplace()
    var options = work.quick
    options.teacher = AdapterTraining.Teacher(model: work.model.path)
    options.teacher?.writtenTexts = 6
    let job = work.model.train(on: work.data, to: work.scratch("taught"), options: options)
    var last: [AdapterTraining.Preparation.Part: AdapterTraining.Preparation] = [:]
    var order: [AdapterTraining.Preparation.Part] = []
    for try await event in job {
      guard case .preparing(let preparation) = event else { continue }
      if last.updateValue(preparation, forKey: preparation.part) == nil { order.append(preparation.part) }
    }
    let report = try await job.value
    #expect(order == [.texts, .adapter, .labels] && last.values.allSatisfy { $0.done == $0.total })
    #expect(report.manifest.contains("taught.teacher") && report.manifest.contains("taught.written.jsonl"))
    let teacher = try await work.model.adapter(at: work.scratch("taught.teacher"))
    #expect(try await teacher.tag(["the soup needs salt"]).value.count == 1)

    options.resumes = true
    #expect(try await work.model.train(on: work.data, to: work.scratch("taught"), options: options).value == report)
    let stopped = work.model.train(on: work.data, to: work.scratch("stopped"), options: options)
    for try await case .preparing(let preparation) in stopped where preparation.part == .adapter { break }
    stopped.cancel()
    let fault = await failure { () throws(DibitError) in try await stopped.value }
    #expect(try #require(fault).kind == .cancelled)
    let resumed = try await work.model.train(on: work.data, to: work.scratch("stopped"), options: options).value
    #expect(resumed.trainingLoss == report.trainingLoss && resumed.steps == report.steps)

    options.teacher?.unlabelledTexts = "texts"
    let both = await failure { [options] () throws(DibitError) in
      try await work.model.train(on: work.data, to: work.scratch("both"), options: options).value
    }
    #expect(try #require(both).kind == .invalidArgument)
  }

  @Test("a cancelled training is gone on with, to the same bytes")
  func resuming() async throws {
    let work = try await Workplace()
    // Long enough that it is not over before its end is asked for, on a machine that does much else.
    var options = work.quick
    options.epochs = 60
    let whole = try await work.trained("whole", options)
    let job = work.model.train(on: work.data, to: work.scratch("again"), options: options)
    for try await event in job { if case .step = event { break } }
    job.cancel()
    let fault = await failure { () throws(DibitError) in try await job.value }
    #expect(try #require(fault).kind == .cancelled && !FileManager.default.fileExists(atPath: work.scratch("again")))
    let inTheWay = await failure { [options] () throws(DibitError) in
      try await work.model.train(on: work.data, to: work.scratch("again"), options: options).value
    }
    #expect(try #require(inTheWay).kind == .cannotCreate && inTheWay?.message.contains("--") == false)
    options.resumes = true
    let report = try await work.model.train(on: work.data, to: work.scratch("again"), options: options).value
    #expect(report.steps == 300)
    #expect(try weights(report.path) == weights(whole.path))
    // Done already: told without training.
    #expect(try await work.model.train(on: work.data, to: work.scratch("again"), options: options).value == report)
  }

  @Test("an adapter goes on from another, and not from one of another shape")
  func start() async throws {
    let work = try await Workplace()
    let first = try await work.trained("first")
    var options = work.quick
    (options.start, options.rank) = (first.path, nil)
    let next = try await work.model.train(on: work.data, to: work.scratch("next"), options: options).value
    #expect(try weights(next.path) != weights(first.path))
    options.rank = 8
    let fault = await failure { [options] () throws(DibitError) in
      try await work.model.train(on: work.data, to: work.scratch("other"), options: options).value
    }
    #expect(
      try #require(fault).message
        == "'\(first.path)': training goes on with the adapter's own 'rank': 4 expected, 8 found in options or recipe; "
        + "leave it out of the options, or begin with a new adapter")
  }

  @Test("an evaluation runs the base, its adapters and baselines, and says who is better")
  func evaluation() async throws {
    let work = try await Workplace()
    let adapter = try await work.trained()
    var options = Evaluation.Options()
    (options.baselines, options.aloneTexts, options.resamples) = ([.majority, .words], 0, 100)
    let job = work.model.evaluate(on: work.data, adapters: [adapter], options: options)
    var titles: Set<String> = []
    for try await progress in job { titles.insert(progress.title) }
    let report = try await job.value
    #expect(report.runs.map(\.name) == ["base", adapter.path, "most frequent label", "naive Bayes on words"])
    #expect(report.runs.map(\.isBaseline) == [false, false, true, true] && report.texts == 12 && !report.verdict.isEmpty)
    #expect(titles.contains("evaluating base") && report.json.contains("\"verdict\"") && report.html.contains("<html"))
    options.split = .train
    let leaked = await failure { [options] () throws(DibitError) in
      try await work.model.evaluate(on: work.data, adapters: [adapter], options: options).value
    }
    #expect(
      try #require(leaked).message
        == "20 of the 20 texts of the train split of '\(work.data)' were trained on, 0 more nearly so; none is left to evaluate: "
        + "give texts that were held out")
  }
}
