/// The rules that a model follows for a whole conversation: lines of text, and values that are given as structured content.
///
/// ```swift
/// let session = LanguageModelSession(instructions: Instructions {
///   "You are a guide to the rivers of Europe."
///   for rule in rules { rule }
/// })
/// ```
public struct Instructions: Sendable {
  /// The parts, in order; neighbouring lines are one text segment.
  let segments: [Transcript.Segment]

  /// Instructions of known parts.
  init(segments: [Transcript.Segment]) { self.segments = segments }

  /// The parts of several instructions, one under the other.
  init(joining instructions: [Instructions]) { segments = .lines(instructions.map(\.segments)) }

  /// Instructions that say what a value says.
  ///
  /// - Parameters:
  ///   - content: The value, such as a text.
  public init(_ content: some InstructionsRepresentable) { self = content.instructionsRepresentation }

  /// Instructions that are built line by line.
  ///
  /// - Parameters:
  ///   - content: The lines.
  /// - Throws: What the block throws.
  public init(@InstructionsBuilder _ content: () throws -> Instructions) rethrows { self = try content() }

  /// The parts as text, one under the other; structured content as its JSON.
  var text: String { segments.text }
}

/// A value that can be said to a model in its instructions.
///
/// ```swift
/// struct Tone: InstructionsRepresentable {
///   var name: String
///   var instructionsRepresentation: Instructions { "Write in a \(name) tone." }
/// }
/// ```
public protocol InstructionsRepresentable {
  /// The value as instructions.
  @InstructionsBuilder var instructionsRepresentation: Instructions { get }
}

extension Instructions: InstructionsRepresentable {
  /// The instructions themselves.
  public var instructionsRepresentation: Instructions { return self }
}

extension String: InstructionsRepresentable {
  /// The text as instructions of one part.
  public var instructionsRepresentation: Instructions {
    return Instructions(segments: [.text(Transcript.TextSegment(content: self))])
  }
}

extension Array: InstructionsRepresentable where Element: InstructionsRepresentable {
  /// The elements, one under the other.
  public var instructionsRepresentation: Instructions { return Instructions(joining: map(\.instructionsRepresentation)) }
}
