import Dibit
import DibitJSON
import DibitTestSupport
import DibitTokenizer
import Foundation
import Testing

@testable import FoundationModels

/// A tiny random model in a directory that goes with the test. It says nothing that makes sense, and keeps to whatever form it is asked for.
struct TestModel {
  let scratch = Scratch()
  let model: SystemLanguageModel

  /// The ways in which a model is spoken to.
  enum Speech {
    /// Turn tokens of its vocabulary: no template, and no words for tools.
    case turns
    /// A template that writes tools and calls.
    case template(String)
  }

  init(_ speech: Speech = .turns, context: Int = 262_144) throws {
    var checkpoint = try TinyCheckpoint.llama(context: context)
    if case .template(let template) = speech {
      checkpoint.tokenizer = try Tokenizer.training(
        on: TinyCheckpoint.sentences, vocabularySize: TinyCheckpoint.vocabulary - 8,
        specialTokens: ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
      ).serialized()
      _ = try scratch.write(template, to: "model/chat_template.jinja")
    }
    _ = try scratch.write(#"{"eos_token": "<|im_end|>"}"#, to: "model/tokenizer_config.json")
    let path = try checkpoint.write(to: scratch, "model")
    model = SystemLanguageModel(path: path)
  }

  /// A template in the manner of those that write calls between tags, one after the other.
  static let tagged = """
    {%- if tools %}<|im_start|>system
    {% for tool in tools %}{{ tool | tojson }}
    {% endfor %}<|im_end|>
    {% endif %}{%- for message in messages %}<|im_start|>{{ message.role }}
    {% if message.tool_calls %}{% for call in message.tool_calls %}<call>
    {"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
    </call>{% if not loop.last %}
    {% endif %}{% endfor %}{% else %}{{ message.content }}{% endif %}<|im_end|>
    {% endfor %}{%- if add_generation_prompt %}<|im_start|>assistant
    {% endif %}
    """
}

/// A tool that notes what it is asked.
struct Lookup: Tool {
  struct Arguments: Generable {
    var word: String
    static var generationSchema: GenerationSchema {
      GenerationSchema(
        type: Self.self, properties: [GenerationSchema.Property(name: "word", type: String.self, guides: [.anyOf(["moon", "soup"])])])
    }
    init(_ content: GeneratedContent) throws { word = try content.value(forProperty: "word") }
    var generatedContent: GeneratedContent { GeneratedContent(properties: ["word": word]) }
  }

  let name: String
  let description = "Looks a word up."
  let answer: @Sendable (String) async throws -> String

  init(_ name: String = "lookup", _ answer: @escaping @Sendable (String) async throws -> String = { "\($0) is a word" }) {
    (self.name, self.answer) = (name, answer)
  }

  func call(arguments: Arguments) async throws -> String { try await answer(arguments.word) }
}

/// Two texts of a list, and a number: the least that has all kinds of guides.
struct Report: Generable, Equatable {
  var title: String
  var count: Int
  var words: [String]

  struct PartiallyGenerated: ConvertibleFromGeneratedContent, Equatable {
    var title: String?
    var count: Int?
    var words: [String]?
    init(_ content: GeneratedContent) throws {
      title = try content.value(forProperty: "title")
      count = try content.value(forProperty: "count")
      words = try content.value(forProperty: "words")
    }
  }

  static var generationSchema: GenerationSchema {
    GenerationSchema(
      type: Self.self,
      properties: [
        GenerationSchema.Property(name: "title", type: String.self, guides: [.pattern(/[a-z]{3,8}/)]),
        GenerationSchema.Property(name: "count", type: Int.self, guides: [.range(10...99)]),
        GenerationSchema.Property(name: "words", type: [String].self, guides: [.count(2), .element(.anyOf(["moon", "soup", "bank"]))]),
      ])
  }
  init(_ content: GeneratedContent) throws {
    title = try content.value(forProperty: "title")
    count = try content.value(forProperty: "count")
    words = try content.value(forProperty: "words")
  }
  var generatedContent: GeneratedContent { GeneratedContent(properties: ["title": title, "count": count, "words": words]) }
}

/// A list that is long whatever the model makes of a prompt, so long that it does not end before a reader who waits for a busy machine stops it.
struct LongList: Generable {
  var words: [String]
  static var generationSchema: GenerationSchema {
    GenerationSchema(
      type: Self.self,
      properties: [
        GenerationSchema.Property(name: "words", type: [String].self, guides: [.count(40_000), .element(.anyOf(["moon", "soup"]))])
      ])
  }
  init(_ content: GeneratedContent) throws { words = try content.value(forProperty: "words") }
  var generatedContent: GeneratedContent { GeneratedContent(properties: ["words": words]) }

  struct PartiallyGenerated: ConvertibleFromGeneratedContent {
    var words: [String]?
    init(_ content: GeneratedContent) throws { words = try content.value(forProperty: "words") }
  }
}

extension LanguageModelSession.Usage {
  var promptTokens: Int { input.totalTokenCount }
  var readTokens: Int { input.totalTokenCount - input.cachedTokenCount }
  var responseTokens: Int { output.totalTokenCount }
}
