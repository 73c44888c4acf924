/// Builds a ``Prompt`` of the lines of a block, one under the other.
@resultBuilder
public struct PromptBuilder {
  /// Joins the statements of a block.
  ///
  /// - Parameters:
  ///   - components: The values of the statements.
  /// - Returns: Their prompts, one under the other.
  public static func buildBlock<each P>(_ components: repeat each P) -> Prompt where repeat each P: PromptRepresentable {
    var prompts: [Prompt] = []
    for component in repeat each components { prompts.append(component.promptRepresentation) }
    return Prompt(joining: prompts)
  }

  /// Joins what the turns of a loop made.
  ///
  /// - Parameters:
  ///   - prompts: The value of each turn.
  /// - Returns: Their prompts, one under the other.
  public static func buildArray(_ prompts: [some PromptRepresentable]) -> Prompt { Prompt(joining: prompts.map(\.promptRepresentation)) }

  /// Takes the first branch of a condition.
  ///
  /// - Parameters:
  ///   - component: The value of the branch.
  /// - Returns: It as a prompt.
  public static func buildEither(first component: some PromptRepresentable) -> Prompt { Prompt(component) }

  /// Takes the second branch of a condition.
  ///
  /// - Parameters:
  ///   - component: The value of the branch.
  /// - Returns: It as a prompt.
  public static func buildEither(second component: some PromptRepresentable) -> Prompt { Prompt(component) }

  /// Takes a branch that may be missing.
  ///
  /// - Parameters:
  ///   - component: The branch, or nil.
  /// - Returns: The branch, or a prompt without lines.
  public static func buildOptional(_ component: Prompt?) -> Prompt { component ?? Prompt(segments: []) }

  /// Takes a branch that only newer systems have.
  ///
  /// - Parameters:
  ///   - prompt: The value of the branch.
  /// - Returns: It as a prompt.
  public static func buildLimitedAvailability(_ prompt: some PromptRepresentable) -> Prompt { Prompt(prompt) }

  /// Takes a value that can be said in a prompt.
  ///
  /// - Parameters:
  ///   - expression: The value.
  /// - Returns: The same value.
  @_disfavoredOverload
  public static func buildExpression<P>(_ expression: P) -> P where P: PromptRepresentable { expression }

  /// Takes a prompt.
  ///
  /// - Parameters:
  ///   - expression: The prompt.
  /// - Returns: The same prompt.
  public static func buildExpression(_ expression: Prompt) -> Prompt { expression }

  /// Refuses a value that cannot be said in a prompt.
  ///
  /// - Parameters:
  ///   - expression: The value.
  /// - Returns: Nothing: a call does not compile.
  @available(*, unavailable, message: "Only values that conform to 'PromptRepresentable' can be part of a prompt.")
  public static func buildExpression<T>(_ expression: T) -> Prompt { Prompt(segments: []) }
}
