/// Dynamic instructions for each element of a collection, one under the other. In a `body` it is called ``DynamicInstructions/ForEach``.
///
/// ```swift
/// struct Pantry: DynamicInstructions {
///   let shelves: [Shelf]
///   var body: some DynamicInstructions {
///     Instructions("You know what is on the shelves.")
///     ForEach(shelves, id: \.name) { shelf in Instructions("\(shelf.name): \(shelf.goods)") }
///   }
/// }
/// ```
public struct DynamicInstructionsForEach<Data, ID, Content>: DynamicInstructions, InstructionsPart
where Data: RandomAccessCollection, ID: Hashable, Content: DynamicInstructions {
  /// There is none: the instructions say themselves.
  public typealias Body = Never

  private let data: Data
  private let content: (Data.Element) -> Content

  /// Instructions for each element of a collection.
  ///
  /// - Parameters:
  ///   - data: The elements.
  ///   - id: The property that tells one element from another. Instructions are said anew each time, so that none has to be found again.
  ///   - content: The instructions of an element.
  public init(_ data: Data, id: KeyPath<Data.Element, ID>, @DynamicInstructionsBuilder content: @escaping (Data.Element) -> Content) {
    (self.data, self.content) = (data, content)
  }

  /// Instructions for each element of a collection.
  ///
  /// - Parameters:
  ///   - data: The elements.
  ///   - content: The instructions of an element.
  public init(_ data: Data, @DynamicInstructionsBuilder content: @escaping (Data.Element) -> Content)
  where Data.Element: Identifiable, ID == Data.Element.ID {
    (self.data, self.content) = (data, content)
  }

  /// There is none, and asking for it ends the program.
  public var body: Never { return bodyless(Self.self) }

  func add(to said: inout SaidInstructions) { for element in data { said.add(content(element)) } }
}

extension DynamicInstructions {
  /// Instructions for each element of a collection.
  public typealias ForEach = DynamicInstructionsForEach
}
