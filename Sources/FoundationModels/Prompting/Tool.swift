/// Something that a model can call while it answers, such as a search.
///
/// The model sees the name, the description and the schema of the arguments. What a call returns is given back to it as a prompt.
///
/// ```swift
/// struct Weather: Tool {
///   let description = "Tells the weather of a city."
///   @Generable struct Arguments { var city: String }
///   func call(arguments: Arguments) async throws -> String { try await forecast(for: arguments.city) }
/// }
/// ```
public protocol Tool<Arguments, Output>: Sendable {
  /// The result of a call.
  associatedtype Output: PromptRepresentable
  /// The arguments of a call, made of what the model writes.
  associatedtype Arguments: ConvertibleFromGeneratedContent

  /// The name by which the model calls the tool; it differs from that of the other tools of a session.
  var name: String { get }
  /// A sentence for the model that says what the tool does and when to call it.
  var description: String { get }
  /// The schema of the arguments.
  var parameters: GenerationSchema { get }
  /// True if the instructions of a session tell the model of this tool.
  var includesSchemaInInstructions: Bool { get }

  /// Does what the tool is for.
  ///
  /// Calls that a model makes at once may run at the same time.
  ///
  /// - Parameters:
  ///   - arguments: What the model wrote, converted.
  /// - Returns: The result, for the model to read.
  /// - Throws: Any error. It ends the answer.
  @concurrent func call(arguments: Arguments) async throws -> Output
}

extension Tool {
  /// The name of the type.
  public var name: String { String(describing: Self.self) }

  /// True: a session tells the model of its tools.
  public var includesSchemaInInstructions: Bool { true }
}

extension Tool where Arguments: Generable {
  /// The schema of the type of the arguments.
  public var parameters: GenerationSchema { Arguments.generationSchema }
}
