internal import DibitJSON

/// A schema in which every type has been looked at once: named schemas stand in a list, and others refer to them by index.
struct ResolvedSchema {
  struct Node {
    var shape: Shape
    /// A description, and keywords that no guide makes.
    var keywords: [SchemaKeyword] = []
  }

  indirect enum Shape {
    case scalar(ScalarKind, ScalarLimits)
    case array(Node, minimum: Int?, maximum: Int?)
    case definition(Int)
    case root
  }

  /// The guides of a text or a number, together.
  struct ScalarLimits {
    var values: [String]?
    var pattern: String?
    var minimum: GuideRule.Limit?
    var maximum: GuideRule.Limit?
  }

  struct Property {
    let name: String
    let description: String?
    let node: Node
    let isOptional: Bool
  }

  enum Body {
    case object([Property], isNilExplicit: Bool, isOpen: Bool)
    case union([Node])
    case choices([String])
    case other(Node)
  }

  struct Definition {
    var name: String
    let description: String?
    let body: Body
  }

  let root: Node
  let definitions: [Definition]
}
