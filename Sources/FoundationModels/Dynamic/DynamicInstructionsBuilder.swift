/// Builds ``DynamicInstructions`` of the instructions and the tools of a block.
@resultBuilder
public struct DynamicInstructionsBuilder {
  /// Takes a tool, which the model may call.
  ///
  /// - Parameter expression: The tool.
  /// - Returns: Instructions that have the tool and say nothing else.
  public static func buildExpression<T>(_ expression: T) -> some DynamicInstructions where T: Tool { ToolInstructions(tools: [expression]) }

  /// Takes instructions.
  ///
  /// - Parameter expression: The instructions.
  /// - Returns: The same instructions.
  public static func buildExpression<T>(_ expression: T) -> T where T: DynamicInstructions { expression }

  /// Takes tools, which the model may call.
  ///
  /// - Parameter tools: The tools.
  /// - Returns: Instructions that have the tools and say nothing else.
  public static func buildExpression(_ tools: [any Tool]) -> some DynamicInstructions { ToolInstructions(tools: tools) }

  /// Joins the statements of a block.
  ///
  /// - Parameter contents: The values of the statements.
  /// - Returns: The instructions, one under the other.
  public static func buildBlock<each Content>(
    _ contents: repeat each Content
  ) -> TupleDynamicInstructions<repeat each Content> where repeat each Content: DynamicInstructions {
    TupleDynamicInstructions(repeat each contents)
  }

  /// Takes the only statement of a block.
  ///
  /// - Parameter content: The value of the statement.
  /// - Returns: The same value.
  public static func buildBlock<T>(_ content: T) -> T where T: DynamicInstructions { content }

  /// Takes an empty block.
  ///
  /// - Returns: Instructions that say nothing.
  public static func buildBlock() -> EmptyDynamicInstructions { EmptyDynamicInstructions() }

  /// Takes the first branch of a condition.
  ///
  /// - Parameter content: The value of the branch.
  /// - Returns: Instructions that say it.
  public static func buildEither<TrueContent, FalseContent>(
    first content: TrueContent
  ) -> ConditionalDynamicInstructions<TrueContent, FalseContent>
  where TrueContent: DynamicInstructions, FalseContent: DynamicInstructions {
    ConditionalDynamicInstructions(.trueContent(content))
  }

  /// Takes the second branch of a condition.
  ///
  /// - Parameter content: The value of the branch.
  /// - Returns: Instructions that say it.
  public static func buildEither<TrueContent, FalseContent>(
    second content: FalseContent
  ) -> ConditionalDynamicInstructions<TrueContent, FalseContent>
  where TrueContent: DynamicInstructions, FalseContent: DynamicInstructions {
    ConditionalDynamicInstructions(.falseContent(content))
  }

  /// Takes a block that is there on some systems alone.
  ///
  /// - Parameter content: The value of the block.
  /// - Returns: Instructions that say it.
  public static func buildLimitedAvailability(_ content: some DynamicInstructions) -> AnyDynamicInstructions {
    AnyDynamicInstructions(content)
  }

  /// Takes a branch that may be missing.
  ///
  /// - Parameter content: The branch, or nil.
  /// - Returns: The same value.
  public static func buildOptional<Content>(_ content: Content?) -> Content? where Content: DynamicInstructions { content }
}
