/// A request to a model: lines of text, and values that are given as structured content.
///
/// ```swift
/// let prompt = Prompt {
///   "Name three rivers."
///   if isBrief { "Answer in one line." }
/// }
/// ```
public struct Prompt: Sendable {
  /// The parts, in order; neighbouring lines are one text segment.
  let segments: [Transcript.Segment]

  /// A prompt of known parts.
  init(segments: [Transcript.Segment]) { self.segments = segments }

  /// The parts of several prompts, one under the other.
  init(joining prompts: [Prompt]) { segments = .lines(prompts.map(\.segments)) }

  /// A prompt that says what a value says.
  ///
  /// - Parameters:
  ///   - content: The value, such as a text.
  public init(_ content: some PromptRepresentable) { self = content.promptRepresentation }

  /// A prompt that is built line by line.
  ///
  /// - Parameters:
  ///   - content: The lines.
  /// - Throws: What the block throws.
  public init(@PromptBuilder _ content: () throws -> Prompt) rethrows { self = try content() }

  /// The parts as text, one under the other; structured content as its JSON.
  var text: String { segments.text }
}

/// A value that can be said to a model in a prompt.
///
/// ```swift
/// struct Location: PromptRepresentable {
///   var city: String
///   var promptRepresentation: Prompt { "The user is in \(city)." }
/// }
/// ```
public protocol PromptRepresentable {
  /// The value as a prompt.
  @PromptBuilder var promptRepresentation: Prompt { get }
}

extension Prompt: PromptRepresentable {
  /// The prompt itself.
  public var promptRepresentation: Prompt { return self }
}

extension String: PromptRepresentable {
  /// The text as a prompt of one part.
  public var promptRepresentation: Prompt { return Prompt(segments: [.text(Transcript.TextSegment(content: self))]) }
}

extension Array: PromptRepresentable where Element: PromptRepresentable {
  /// The elements, one under the other.
  public var promptRepresentation: Prompt { return Prompt(joining: map(\.promptRepresentation)) }
}
