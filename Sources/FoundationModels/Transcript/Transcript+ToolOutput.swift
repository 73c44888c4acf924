extension Transcript {
  /// The result of a call of a tool.
  public struct ToolOutput: Sendable, Identifiable, Equatable {
    /// The identifier of the call.
    public var id: String
    /// The name of the tool.
    public var toolName: String
    /// The parts, in order.
    public var segments: [Segment]

    /// A result.
    ///
    /// - Parameters:
    ///   - id: The identifier of the call.
    ///   - toolName: The name of the tool.
    ///   - segments: The parts, in order.
    public init(id: String, toolName: String, segments: [Segment]) {
      self.id = id
      self.toolName = toolName
      self.segments = segments
    }
  }
}
