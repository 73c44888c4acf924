public import Foundation

extension Transcript {
  /// Calls of tools that a model makes at once.
  public struct ToolCalls: Sendable, Identifiable, Equatable {
    /// The identifier.
    public var id: String
    /// The calls, in order.
    var calls: [ToolCall]

    /// Calls that are made at once.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - calls: The calls, in order.
    public init<S>(id: String = UUID().uuidString, _ calls: S) where S: Sequence, S.Element == ToolCall {
      self.id = id
      self.calls = Array(calls)
    }
  }

  /// A call of a tool.
  public struct ToolCall: Sendable, Identifiable, Equatable {
    /// The identifier, which the output of the call has too.
    public var id: String
    /// The name of the tool.
    public var toolName: String
    /// The arguments as the model wrote them.
    public var arguments: GeneratedContent
    /// Values of whoever made it.
    public var metadata: [String: GeneratedContent] = [:]

    /// A call.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - toolName: The name of the tool.
    ///   - arguments: The arguments.
    public init(id: String, toolName: String, arguments: GeneratedContent) {
      self.id = id
      self.toolName = toolName
      self.arguments = arguments
    }

    /// A call with what else is known of it.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - metadata: Values of whoever made it.
    ///   - toolName: The name of the tool.
    ///   - arguments: The arguments.
    public init(id: String, metadata: [String: any ConvertibleToGeneratedContent], toolName: String, arguments: GeneratedContent) {
      self.init(id: id, toolName: toolName, arguments: arguments)
      self.metadata = metadata.contents
    }
  }
}

extension Transcript.ToolCalls: RandomAccessCollection {
  /// The position of a call.
  public typealias Index = Int

  /// The call at a position.
  ///
  /// - Parameters:
  ///   - position: The position, from ``startIndex`` up to but without ``endIndex``.
  public subscript(position: Int) -> Transcript.ToolCall { calls[position] }

  /// The position of the first call: 0.
  public var startIndex: Int { calls.startIndex }
  /// The position behind the last call: the number of calls.
  public var endIndex: Int { calls.endIndex }
}
