extension GenerationOptions {
  /// The permission to call tools while an answer is made.
  public struct ToolCallingMode: Sendable, Equatable {
    /// The permissions.
    public enum Kind: Sendable, Equatable {
      /// The model calls tools as it sees fit.
      case allowed
      /// The model calls at least one tool before it answers.
      case required
      /// The model calls no tool.
      case disallowed
    }

    /// The permission.
    public var kind: Kind

    /// Lets the model call tools as it sees fit.
    public static var allowed: ToolCallingMode { ToolCallingMode(kind: .allowed) }
    /// Makes the model call at least one tool before it answers.
    public static var required: ToolCallingMode { ToolCallingMode(kind: .required) }
    /// Keeps the model from calling tools.
    public static var disallowed: ToolCallingMode { ToolCallingMode(kind: .disallowed) }
  }
}
