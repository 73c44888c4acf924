package import DibitTokenizer

/// A request to a model: a text of a user, the messages of a chat, or a text to go on with.
///
/// A text in quotes is one of a user:
///
/// ```swift
/// let answer = try await model.generate("Name three rivers.").value
/// let story = try await model.generate(.text("Once upon a time")).value
/// ```
public struct Prompt: Equatable, Sendable, ExpressibleByStringLiteral {
  /// The three kinds.
  package enum Content: Equatable, Sendable {
    case user(String, system: String?)
    case chat([ChatMessage])
    case text(String, parsesSpecialTokens: Bool)
  }

  /// The kind of prompt, with its text.
  package let content: Content

  /// A prompt of known content.
  package init(_ content: Content) { self.content = content }

  /// A text of a user, as ``user(_:system:)``.
  ///
  /// ```swift
  /// let prompt: Prompt = "Name three rivers."
  /// ```
  ///
  /// - Parameters:
  ///   - value: What the user says.
  public init(stringLiteral value: String) { self = .user(value) }

  /// A text of a user, which the model answers. It is put into the model's chat template, or the turns of its vocabulary, if it has either; with
  /// an adapter that tags, into the prompt that the adapter learnt. A model with none of them goes on behind the text.
  ///
  /// ```swift
  /// let prompt = Prompt.user(question, system: "Answer in one sentence.")
  /// ```
  ///
  /// - Parameters:
  ///   - text: What the user says. It cannot spell a control token.
  ///   - system: The message of the system before it; nil for none.
  /// - Returns: The prompt.
  public static func user(_ text: String, system: String? = nil) -> Prompt { Prompt(.user(text, system: system)) }

  /// The messages of a chat, of which the last is the user's.
  ///
  /// ```swift
  /// let prompt = Prompt.chat([
  ///   Message(.user, "Name a river."), Message(.assistant, "The Elbe."), Message(.user, "Where does it end?"),
  /// ])
  /// ```
  ///
  /// - Parameters:
  ///   - messages: What has been said, in order.
  /// - Returns: The prompt.
  public static func chat(_ messages: [Message]) -> Prompt { Prompt(.chat(messages.map(\.chatMessage))) }

  /// A text that the model goes on with, as it is.
  ///
  /// ```swift
  /// let prompt = Prompt.text("Once upon a time")
  /// ```
  ///
  /// - Parameters:
  ///   - text: The beginning.
  ///   - parsesSpecialTokens: Whether control tokens that are spelled out in the text count as such. Not for texts of others: they could speak
  ///     for anybody.
  /// - Returns: The prompt.
  public static func text(_ text: String, parsesSpecialTokens: Bool = false) -> Prompt {
    Prompt(.text(text, parsesSpecialTokens: parsesSpecialTokens))
  }
}

/// A message of a chat.
///
/// ```swift
/// let message = Message(.user, "Name a river.")
/// ```
public struct Message: Equatable, Sendable {
  /// The speaker of a message.
  public enum Role: String, Equatable, Sendable, CaseIterable {
    /// Whoever sets up the chat.
    case system
    /// The person.
    case user
    /// The model.
    case assistant
  }

  /// The speaker.
  public var role: Role
  /// The text that is said, as plain text.
  public var content: String

  /// A message.
  ///
  /// ```swift
  /// let message = Message(.user, "Name a river.")
  /// ```
  ///
  /// - Parameters:
  ///   - role: Who speaks.
  ///   - content: What is said.
  public init(_ role: Role, _ content: String) { (self.role, self.content) = (role, content) }

  init(_ message: ChatMessage) {
    content = message.content
    role =
      switch message.role {
      case .system: .system
      case .user: .user
      case .assistant: .assistant
      }
  }

  /// Takes words; nil for calls of tools and what these gave.
  init?(_ message: DialogueMessage) {
    switch message {
    case .system(let text): self.init(.system, text)
    case .user(let text): self.init(.user, text)
    case .assistant(let text): self.init(.assistant, text)
    case .calls, .result: return nil
    }
  }

  var chatMessage: ChatMessage {
    let role: DibitTokenizer.Role =
      switch self.role {
      case .system: .system
      case .user: .user
      case .assistant: .assistant
      }
    return ChatMessage(role: role, content: content)
  }
}
