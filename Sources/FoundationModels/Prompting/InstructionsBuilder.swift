/// Builds ``Instructions`` of the lines of a block, one under the other.
@resultBuilder
public struct InstructionsBuilder {
  /// Joins the statements of a block.
  ///
  /// - Parameters:
  ///   - components: The values of the statements.
  /// - Returns: The instructions, one under the other.
  public static func buildBlock<each I>(_ components: repeat each I) -> Instructions where repeat each I: InstructionsRepresentable {
    var instructions: [Instructions] = []
    for component in repeat each components { instructions.append(component.instructionsRepresentation) }
    return Instructions(joining: instructions)
  }

  /// Joins what the turns of a loop made.
  ///
  /// - Parameters:
  ///   - instructions: The value of each turn.
  /// - Returns: The instructions, one under the other.
  public static func buildArray(_ instructions: [some InstructionsRepresentable]) -> Instructions {
    Instructions(joining: instructions.map(\.instructionsRepresentation))
  }

  /// Takes the first branch of a condition.
  ///
  /// - Parameters:
  ///   - component: The value of the branch.
  /// - Returns: It as instructions.
  public static func buildEither(first component: some InstructionsRepresentable) -> Instructions { Instructions(component) }

  /// Takes the second branch of a condition.
  ///
  /// - Parameters:
  ///   - component: The value of the branch.
  /// - Returns: It as instructions.
  public static func buildEither(second component: some InstructionsRepresentable) -> Instructions { Instructions(component) }

  /// Takes a branch that may be missing.
  ///
  /// - Parameters:
  ///   - component: The branch, or nil.
  /// - Returns: The branch, or instructions without lines.
  public static func buildOptional(_ component: Instructions?) -> Instructions { component ?? Instructions(segments: []) }

  /// Takes a branch that only newer systems have.
  ///
  /// - Parameters:
  ///   - instructions: The value of the branch.
  /// - Returns: It as instructions.
  public static func buildLimitedAvailability(_ instructions: some InstructionsRepresentable) -> Instructions { Instructions(instructions) }

  /// Takes a value that can be said in instructions.
  ///
  /// - Parameters:
  ///   - expression: The value.
  /// - Returns: The same value.
  @_disfavoredOverload
  public static func buildExpression<I>(_ expression: I) -> I where I: InstructionsRepresentable { expression }

  /// Takes instructions.
  ///
  /// - Parameters:
  ///   - expression: The instructions.
  /// - Returns: The same instructions.
  public static func buildExpression(_ expression: Instructions) -> Instructions { expression }

  /// Refuses a value that cannot be said in instructions.
  ///
  /// - Parameters:
  ///   - expression: The value.
  /// - Returns: Nothing: a call does not compile.
  @available(*, unavailable, message: "Only values that conform to 'InstructionsRepresentable' can be part of instructions.")
  public static func buildExpression<T>(_ expression: T) -> Instructions { Instructions(segments: []) }
}
