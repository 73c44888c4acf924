/// Dynamic instructions of any type.
public struct AnyDynamicInstructions: DynamicInstructions, InstructionsPart {
  /// There is none: the instructions say themselves.
  public typealias Body = Never

  private let instructions: any DynamicInstructions

  /// Hides the type of instructions.
  ///
  /// - Parameter dynamicInstructions: The instructions.
  public init(_ dynamicInstructions: any DynamicInstructions) { instructions = dynamicInstructions }

  /// Hides the type of instructions.
  ///
  /// - Parameter dynamicInstructions: The instructions.
  public init(erasing dynamicInstructions: some DynamicInstructions) { instructions = dynamicInstructions }

  /// There is none, and asking for it ends the program.
  public var body: Never { return bodyless(Self.self) }

  func add(to said: inout SaidInstructions) { said.add(instructions) }
}

/// One of two instructions, by a condition.
public struct ConditionalDynamicInstructions<TrueContent, FalseContent>: DynamicInstructions, InstructionsPart
where TrueContent: DynamicInstructions, FalseContent: DynamicInstructions {
  /// There is none: the instructions say themselves.
  public typealias Body = Never

  /// One of two instructions.
  public enum Branch {
    /// The first one.
    case trueContent(TrueContent)
    /// The second one.
    case falseContent(FalseContent)
  }

  private let branch: Branch

  /// Instructions that say one of two.
  ///
  /// - Parameter branch: The one.
  public init(_ branch: Branch) { self.branch = branch }

  /// There is none, and asking for it ends the program.
  public var body: Never { return bodyless(Self.self) }

  func add(to said: inout SaidInstructions) {
    switch branch {
    case .trueContent(let content): said.add(content)
    case .falseContent(let content): said.add(content)
    }
  }
}

/// Instructions that say nothing.
public struct EmptyDynamicInstructions: DynamicInstructions, InstructionsPart, Sendable {
  /// There is none: the instructions say themselves.
  public typealias Body = Never

  /// Instructions that say nothing.
  public init() {}

  /// There is none, and asking for it ends the program.
  public var body: Never { return bodyless(Self.self) }

  func add(to said: inout SaidInstructions) {}
}

/// Several instructions, one under the other.
public struct TupleDynamicInstructions<each Content>: DynamicInstructions, InstructionsPart where repeat each Content: DynamicInstructions {
  /// There is none: the instructions say themselves.
  public typealias Body = Never

  private let contents: (repeat each Content)

  /// Instructions that say these, in order.
  ///
  /// - Parameter contents: The instructions.
  public init(_ contents: repeat each Content) { self.contents = (repeat each contents) }

  /// There is none, and asking for it ends the program.
  public var body: Never { return bodyless(Self.self) }

  func add(to said: inout SaidInstructions) { for content in repeat each contents { said.add(content) } }
}

extension Optional: DynamicInstructions, InstructionsPart where Wrapped: DynamicInstructions {
  /// There is none: the instructions say themselves.
  public typealias Body = Never

  /// There is none, and asking for it ends the program.
  public var body: Never { return bodyless(Self.self) }

  func add(to said: inout SaidInstructions) { if let content = self { said.add(content) } }
}

extension Never: DynamicInstructions {
  /// There is none.
  public typealias Body = Never

  /// There is none.
  public var body: Never { return bodyless(Self.self) }
}
