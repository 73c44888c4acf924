extension NamedSchema {
  /// True if both describe the same. Schemas with names inside are compared by their names.
  func isSame(as other: NamedSchema) -> Bool {
    if self === other { return true }
    guard name == other.name, description == other.description else { return false }
    switch (body, other.body) {
    case (.choices(let left), .choices(let right)): return left == right
    case (.union(let left), .union(let right)): return left.elementsEqual(right) { $0.isSame(as: $1) }
    case (.object(let left, let leftNil, let leftOpen), .object(let right, let rightNil, let rightOpen)):
      return leftNil == rightNil && leftOpen == rightOpen
        && left.elementsEqual(right) {
          $0.name == $1.name && $0.description == $1.description && $0.isOptional == $1.isOptional && $0.node.isSame(as: $1.node)
        }
    default: return false
    }
  }
}

extension SchemaNode {
  /// True if both describe the same; named schemas are compared by their names.
  func isSame(as other: SchemaNode) -> Bool {
    var (left, right) = (self, other)
    while true {
      switch (left, right) {
      case (.array(let one), .array(let two)): (left, right) = (one, two)
      case (.guided(let one, let rules), .guided(let two, let others)) where rules == others: (left, right) = (one, two)
      case (.extended(let one, let keywords), .extended(let two, let others)) where keywords == others: (left, right) = (one, two)
      case (.scalar(let one, _), .scalar(let two, _)): return one == two
      case (.type(let one), .type(let two)): return ObjectIdentifier(one) == ObjectIdentifier(two)
      case (.reference(let one), .reference(let two)): return one == two
      case (.root, .root): return true
      case (.named(let one), .named(let two)): return one.name == two.name
      default: return false
      }
    }
  }
}
