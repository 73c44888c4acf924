internal import DibitJSON

extension SchemaKeywords {
  /// Returns the demands of two schemas together; nil when no value can satisfy both.
  func merged(with other: SchemaKeywords) -> SchemaKeywords? {
    var result = self
    result.types.formIntersection(other.types)
    if result.types.isEmpty { return nil }
    result.implied.formUnion(other.implied)
    if let values = other.values {
      result.values = Self.common(self.values, values)
      if result.values?.isEmpty == true { return nil }
    }
    result.mergeObject(other, self)
    result.mergeArray(other, self)
    result.patterns += other.patterns.filter { !patterns.contains($0) }
    result.minimumLength = max(minimumLength, other.minimumLength)
    result.maximumLength = Self.least(maximumLength, other.maximumLength)
    result.lower += other.lower.filter { !lower.contains($0) }
    result.upper += other.upper.filter { !upper.contains($0) }
    result.multiples += other.multiples.filter { !multiples.contains($0) }
    return result
  }

  private mutating func mergeObject(_ other: SchemaKeywords, _ own: SchemaKeywords) {
    // `additionalProperties` speaks of the properties beside it only, so it narrows those that just the other schema declares.
    var indices: [[UInt8]: Int] = [:]
    for (index, property) in properties.enumerated() { indices[Array(property.name.utf8)] = index }
    var shared = Set<Int>()
    for property in other.properties {
      if let index = indices[Array(property.name.utf8)] {
        properties[index].schemas += property.schemas
        shared.insert(index)
      } else {
        properties.append(Property(name: property.name, schemas: property.schemas + (own.additional ?? [])))
      }
    }
    if let narrowing = other.additional {
      for index in own.properties.indices where !shared.contains(index) { properties[index].schemas += narrowing }
      additional = (own.additional ?? []) + narrowing
    }
    required += other.required.filter { name in !required.contains { $0.utf8.elementsEqual(name.utf8) } }
    if order.isEmpty { order = other.order }
    minimumProperties = max(minimumProperties, other.minimumProperties)
    maximumProperties = Self.least(maximumProperties, other.maximumProperties)
  }

  private mutating func mergeArray(_ other: SchemaKeywords, _ own: SchemaKeywords) {
    // Behind its own prefix each schema's `items` count.
    prefix = (0..<max(own.prefix.count, other.prefix.count)).map { index in
      (index < own.prefix.count ? own.prefix[index] : own.items ?? [])
        + (index < other.prefix.count ? other.prefix[index] : other.items ?? [])
    }
    if let narrowing = other.items { items = (own.items ?? []) + narrowing }
    minimumItems = max(minimumItems, other.minimumItems)
    isUnique = own.isUnique || other.isUnique
    maximumItems = Self.least(maximumItems, other.maximumItems)
  }

  private static func least(_ one: Int?, _ other: Int?) -> Int? {
    guard let one, let other else { return one ?? other }
    return min(one, other)
  }
}
