import Dibit
import DibitTestSupport
import Foundation
import Testing

@Suite struct AdapterTests {
  @Test("an adapter goes to other tools and comes back with its labels, and answers the same", arguments: Export.AdapterFormat.allCases)
  func exchange(format: Export.AdapterFormat) async throws {
    let place = try await Workplace()
    let adapter = try await place.trained()
    let texts = ["the rocket left the market", "the soup needs the loan back"]
    let expected = try await adapter.tag(texts).value
    try await adapter.export(to: place.scratch("theirs"), as: format)
    let opened = try await place.model.adapter(at: place.scratch("theirs"))
    #expect(opened.labels == Workplace.labels && opened.rank == adapter.rank)
    let found = try await opened.tag(texts).value
    #expect(zip(found, expected).allSatisfy { $0.label == $1.label && abs($0.probabilities[0] - $1.probabilities[0]) < 1e-4 })
    let imported = try await place.model.importAdapter(place.scratch("theirs"), to: place.scratch("back"))
    #expect(imported.labels == Workplace.labels && imported.instruction == adapter.instruction)
    #expect(try await imported.tag(texts).value.map(\.label) == expected.map(\.label))
  }

  @Test("an adapter of another tool that says no labels tags once it is told what it learnt")
  func labels() async throws {
    let place = try await Workplace()
    let adapter = try await place.trained()
    try await adapter.export(to: place.scratch("theirs"), as: .peft)
    // What PEFT itself writes has no manifest.
    try FileManager.default.removeItem(atPath: place.scratch("theirs/manifest.json"))
    let plain = try await place.model.adapter(at: place.scratch("theirs"))
    #expect(plain.labels.isEmpty && plain.rank == adapter.rank)
    let mute = await failure { () throws(DibitError) in try await plain.tag(["the soup"]).value }
    #expect(
      mute?.message
        == "the adapter '\(plain.path)' comes from another tool and says no labels: name them where the adapter is converted, or generate with it"
    )
    let options = Response.Options(maximumTokens: 8)
    #expect(
      try await place.model.generate(.text("the soup"), adapter: plain, options: options).value.tokens
        == place.model.generate(.text("the soup"), adapter: adapter, options: options).value.tokens)
    var task = AdapterTask(labels: Workplace.labels)
    (task.instruction, task.maximumTokens) = (adapter.instruction, adapter.maximumTokens)
    let told = try await place.model.importAdapter(plain.path, to: place.scratch("told"), task: task)
    let texts = ["the rocket left the market", "the soup needs the loan back"]
    #expect(try await told.tag(texts).value == adapter.tag(texts).value)
    task.labels = ["food", "food"]
    let twice = await failure { [task] () throws(DibitError) in
      try await place.model.importAdapter(plain.path, to: place.scratch("twice"), task: task)
    }
    #expect(twice == DibitError(.invalidArgument, option: "labels", "each name once expected, 'food' found twice"))
  }

  @Test("a sum is its parts times their weights, in memory as on the disk")
  func sums() async throws {
    let place = try await Workplace()
    let model = place.model
    let (one, texts) = (try await place.trained(), ["the rocket left the market", "the soup needs the loan back"])
    let halves = try await model.adapter(summing: [(one, 0.5), (one, 0.5)])
    #expect(halves.labels == one.labels && halves.rank == 2 * one.rank)
    let (own, summed) = try await (one.tag(texts).value, halves.tag(texts).value)
    for (own, summed) in zip(own, summed) {
      #expect(own.label == summed.label)
      #expect(zip(own.probabilities, summed.probabilities).allSatisfy { abs($0 - $1) < 1e-3 })
    }
    // Against itself nothing is left of an adapter.
    let nothing = try await model.adapter(summing: [(one, 1), (one, -1)])
    let options = Response.Options(maximumTokens: 8)
    #expect(
      try await model.generate(.text("the soup"), adapter: nothing, options: options).value.tokens
        == model.generate(.text("the soup"), options: options).value.tokens)
    // Sums of sums are sums of their parts, and the disk holds what memory does.
    let more = try await model.adapter(summing: [(halves, 0.5), (one, 0.25)])
    try await more.export(to: place.scratch("more"), as: .peft)
    let kept = try await model.adapter(at: place.scratch("more"))
    #expect(kept.rank == 3 * one.rank && kept.labels == one.labels)
    #expect(try await kept.tag(texts).value == more.tag(texts).value)
    #expect(try await model.adapter(summing: [(one, 1)]).path == one.path)
    let wild = await failure { () throws(DibitError) in try await model.adapter(summing: [(one, .infinity)]) }
    #expect(try #require(wild).message.hasSuffix("expected a weight from -1000000.0 to 1000000.0, found inf"))
    let none = await failure { () throws(DibitError) in try await model.adapter(summing: []) }
    #expect(none?.kind == .invalidArgument)
  }

  @Test("a sum is evaluated beside its parts")
  func evaluated() async throws {
    let place = try await Workplace()
    let one = try await place.trained()
    let half = try await place.model.adapter(summing: [(one, 0.5)])
    var options = Evaluation.Options()
    (options.baselines, options.aloneTexts) = ([.majority], 0)
    let report = try await place.model.evaluate(on: place.data, adapters: [one, half], options: options).value
    #expect(report.runs.map(\.name).filter { $0.hasPrefix(one.path) } == [one.path, one.path + "=0.5"])
  }

  @Test("a model is written as floats with an adapter in them, and answers as both do")
  func merged() async throws {
    let place = try await Workplace()
    let adapter = try await place.trained()
    var options = Export.Options()
    options.adapter = adapter
    var fractions: [Double] = []
    let job = place.model.export(to: place.scratch("floats"), options: options)
    for try await fraction in job { fractions.append(fraction) }
    try await job.value
    #expect(fractions.last == 1)
    let floats = try await Model(at: place.scratch("floats"), options: .init(threads: 2))
    #expect(floats.facts.bits == nil && floats.facts.parameters == place.model.facts.parameters)
    let scores = try await floats.score(["food", "space"], after: .text("the soup needs"))
    let expected = try await place.model.score(["food", "space"], after: .text("the soup needs"), adapter: adapter)
    #expect(zip(scores, expected).allSatisfy { abs($0.probability - $1.probability) < 0.05 })
  }
}
