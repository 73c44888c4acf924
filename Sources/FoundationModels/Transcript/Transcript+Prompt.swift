public import Foundation

extension Transcript {
  /// Something that was asked.
  public struct Prompt: Sendable, Identifiable, Equatable {
    /// The identifier.
    public var id: String
    /// The parts, in order.
    public var segments: [Segment]
    /// The options for the answer.
    public var options: GenerationOptions
    /// The form of the answer; nil for text.
    public var responseFormat: ResponseFormat?
    /// The options for what the model is shown.
    public var contextOptions = ContextOptions()
    /// Values of whoever asked.
    public var metadata: [String: GeneratedContent] = [:]

    /// A prompt.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - segments: The parts, in order.
    ///   - options: The options for the answer.
    ///   - responseFormat: The form of the answer; nil for text.
    public init(
      id: String = UUID().uuidString, segments: [Segment], options: GenerationOptions = GenerationOptions(),
      responseFormat: ResponseFormat? = nil
    ) {
      self.id = id
      self.segments = segments
      self.options = options
      self.responseFormat = responseFormat
    }

    /// A prompt with what else was said of it.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - metadata: Values of whoever asks.
    ///   - segments: The parts, in order.
    ///   - options: The options for the answer.
    ///   - responseFormat: The form of the answer; nil for text.
    ///   - contextOptions: The options for what the model is shown.
    @_disfavoredOverload
    public init(
      id: String = UUID().uuidString, metadata: [String: any ConvertibleToGeneratedContent] = [:], segments: [Segment],
      options: GenerationOptions = GenerationOptions(), responseFormat: ResponseFormat? = nil,
      contextOptions: ContextOptions = ContextOptions()
    ) {
      self.init(id: id, segments: segments, options: options, responseFormat: responseFormat)
      self.contextOptions = contextOptions
      self.metadata = metadata.contents
    }
  }

  /// The form of an answer: a value that fits a schema.
  public struct ResponseFormat: Sendable, Equatable {
    /// The name of the schema.
    public let name: String
    /// The schema.
    let schema: GenerationSchema

    /// The kinds of forms.
    public enum Kind: Sendable, Equatable {
      /// The values that fit a schema.
      case schema(GenerationSchema)

      /// Compares the JSON of the schemas.
      ///
      /// - Parameters:
      ///   - left: A kind.
      ///   - right: Another one.
      /// - Returns: True if they ask for the same.
      public static func == (left: Kind, right: Kind) -> Bool {
        switch (left, right) {
        case (.schema(let left), .schema(let right)): left.isSame(as: right)
        }
      }
    }

    /// The kind of the form, with what it asks for.
    public var kind: Kind { .schema(schema) }

    /// A form of a known name.
    init(name: String, schema: GenerationSchema) {
      self.name = name
      self.schema = schema
    }

    /// The form of the values of a type.
    ///
    /// - Parameters:
    ///   - type: The type.
    public init<Content: Generable>(type: Content.Type) {
      self.init(name: String(describing: type), schema: Content.generationSchema)
    }

    /// The form of the values that fit a schema.
    ///
    /// - Parameters:
    ///   - schema: The schema.
    public init(schema: GenerationSchema) { self.init(name: schema.name, schema: schema) }

    /// Compares names and the JSON of the schemas.
    ///
    /// - Parameters:
    ///   - left: A form.
    ///   - right: Another one.
    /// - Returns: True if they ask for the same.
    public static func == (left: ResponseFormat, right: ResponseFormat) -> Bool {
      left.name == right.name && left.schema.isSame(as: right.schema)
    }
  }
}
