import Dibit
import DibitJSON
import DibitTestSupport
import Foundation
import Testing

@testable import FoundationModels

/// Sessions over an adapter that tags, as it is and as a package.
@Suite struct AdapterSessionTests {
  private struct Topics: Generable {
    var topics: [String]
    static var generationSchema: GenerationSchema {
      GenerationSchema(
        type: Self.self, properties: [GenerationSchema.Property(name: "topics", type: [String].self, guides: [GenerationGuide<[String]>]())]
      )
    }
    init(_ content: GeneratedContent) throws { topics = try content.value(forProperty: "topics") }
    var generatedContent: GeneratedContent { GeneratedContent(properties: ["topics": topics]) }
  }

  private func conversion() -> Conversion.Options {
    var options = Conversion.Options(bits: 4)
    options.checks = false
    return options
  }

  @Test("an adapter answers with its labels, also in a type of the client, and a package of it is the same")
  func tags() async throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama(context: 512).write(to: scratch)
    let path = scratch("model")
    _ = try await Model.convert(source, to: path, options: conversion()).value
    let data = try writeTopics(to: scratch, perLabel: 4)
    let model = try await Model(at: path, options: .init(threads: 2))
    var options = AdapterTraining.Options()
    (options.epochs, options.rank, options.batchSize, options.maximumTokens) = (1, 4, 4, 128)
    _ = try await model.train(on: data, to: scratch("adapter"), options: options).value
    let trained = try await model.adapter(at: scratch("adapter"))
    try await trained.export(to: scratch("Topics.fmadapter"), as: .fmadapter)

    let package = try SystemLanguageModel.Adapter(fileURL: URL(filePath: scratch("Topics.fmadapter")))
    let metadata = try JSONValue(
      parsing: Array(try #require(FileManager.default.contents(atPath: scratch("Topics.fmadapter/metadata.json")))))
    let digest = try #require(model.facts.digest)
    #expect(metadata["baseModelSignature"] == .string(String(digest.prefix(40))) && metadata["loraRank"] == 4)
    #expect(metadata["adapterIdentifier"] == .string("fmadapter-Topics-\(digest.prefix(7))"))
    #expect((package.creatorDefinedMetadata["labels"] as? [String])?.sorted() == trained.labels.sorted())

    var texts: [String] = []
    for adapter in [try SystemLanguageModel.Adapter(fileURL: URL(filePath: scratch("adapter"))), package] {
      let session = LanguageModelSession(model: SystemLanguageModel(path: path, adapter: adapter))
      let text = try await session.respond(to: "the goal of the match").content
      let tags = try #require(try JSONValue(parsing: text)["topics"]?.array?.compactMap(\.string))
      #expect(!tags.isEmpty && tags.allSatisfy(trained.labels.contains))
      let typed = try await session.respond(to: "the soup needs salt", generating: Topics.self).content
      #expect(!typed.topics.isEmpty && typed.topics.allSatisfy(trained.labels.contains))
      texts.append(text)
    }
    #expect(texts[0] == texts[1])

    // An adapter belongs to one model.
    var other = conversion()
    other.bits = 2
    _ = try await Model.convert(source, to: scratch("other"), options: other).value
    let foreign = LanguageModelSession(model: SystemLanguageModel(path: scratch("other"), adapter: package))
    #expect(SessionFault(await failure { try await foreign.respond(to: "x") }) == .assetsUnavailable)
  }
}
