/// Instructions and tools that are said anew before each request to a model, so that they can depend on what has happened.
///
/// ```swift
/// struct Cooking: DynamicInstructions {
///   @SessionProperty(\.step) var step
///   var body: some DynamicInstructions {
///     Instructions("You help somebody to cook.")
///     if step == .shopping { PantrySearch() }
///   }
/// }
///
/// let session = LanguageModelSession(dynamicInstructions: Cooking())
/// ```
public protocol DynamicInstructions {
  /// The kind of what these instructions consist of.
  associatedtype Body: DynamicInstructions

  /// The parts that these instructions consist of now.
  @DynamicInstructionsBuilder var body: Self.Body { get }
}

extension DynamicInstructions {
  /// A property of the session that says these instructions.
  public typealias SessionProperty = LanguageModelSession.SessionProperty
}

/// Dynamic instructions that say themselves, without a body.
protocol InstructionsPart {
  func add(to said: inout SaidInstructions)
}

/// The things that dynamic instructions say.
struct SaidInstructions {
  private var lines: [[Transcript.Segment]] = []
  private(set) var tools: [any Tool] = []

  /// The segments, neighbouring texts one under the other.
  var segments: [Transcript.Segment] { .lines(lines) }

  /// The things that these instructions say now.
  init(_ instructions: some DynamicInstructions) { add(instructions) }

  mutating func add(_ instructions: some DynamicInstructions) {
    if let part = instructions as? any InstructionsPart { part.add(to: &self) } else { add(instructions.body) }
  }

  mutating func add(_ segments: [Transcript.Segment]) { lines.append(segments) }

  mutating func add(_ tools: [any Tool]) { self.tools += tools }
}

extension Instructions: DynamicInstructions {
  /// The parts of the instructions.
  public var body: some DynamicInstructions { return SegmentInstructions(segments: segments) }
}

/// Segments that are said.
struct SegmentInstructions: DynamicInstructions, InstructionsPart {
  let segments: [Transcript.Segment]
  var body: Never { return bodyless(Self.self) }

  func add(to said: inout SaidInstructions) { said.add(segments) }
}

/// Tools that may be called.
struct ToolInstructions: DynamicInstructions, InstructionsPart {
  let tools: [any Tool]
  var body: Never { return bodyless(Self.self) }

  func add(to said: inout SaidInstructions) { said.add(tools) }
}

/// Ends the program: such a type says itself, and nobody asks for its body.
func bodyless<Value>(_ type: Value.Type) -> Never { fatalError("\(type) has no body") }
