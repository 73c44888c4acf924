extension GeneratedContent {
  /// A structure of named values, in order. Of two values with one name the later counts.
  ///
  /// - Parameters:
  ///   - properties: Names and values.
  ///   - id: The name of the structure in snapshots; nil for none.
  public init(properties: KeyValuePairs<String, any ConvertibleToGeneratedContent>, id: GenerationID? = nil) {
    self.init(properties: properties.map { ($0.key, $0.value) }, id: id) { _, later in later }
  }

  /// A structure of named values, in order. Where a name comes again, a closure says what counts.
  ///
  /// - Parameters:
  ///   - properties: Names and values.
  ///   - id: The name of the structure in snapshots; nil for none.
  ///   - combine: Makes one value of the earlier and the later value with the same name.
  /// - Throws: Whatever `combine` throws.
  public init<S>(
    properties: S, id: GenerationID? = nil,
    uniquingKeysWith combine: (GeneratedContent, GeneratedContent) throws -> some ConvertibleToGeneratedContent
  ) rethrows where S: Sequence, S.Element == (String, any ConvertibleToGeneratedContent) {
    var values: [String: GeneratedContent] = [:]
    var keys: [String] = []
    for (key, value) in properties {
      let content = value.generatedContent
      if let earlier = values[key] {
        values[key] = try combine(earlier, content).generatedContent
      } else {
        values[key] = content
        keys.append(key)
      }
    }
    self.init(kind: .structure(properties: values, orderedKeys: keys), id: id)
  }

  /// An array of values, which may be of different types.
  ///
  /// - Parameters:
  ///   - elements: The values in order.
  ///   - id: The name of the array in snapshots; nil for none.
  public init<S>(elements: S, id: GenerationID? = nil) where S: Sequence, S.Element == any ConvertibleToGeneratedContent {
    self.init(kind: .array(elements.map(\.generatedContent)), id: id)
  }

  /// The content of a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  public init(_ value: some ConvertibleToGeneratedContent) { self = value.generatedContent }

  /// The content of a value, under a name.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - id: The name of the content in snapshots.
  public init(_ value: some ConvertibleToGeneratedContent, id: GenerationID) {
    self = value.generatedContent
    self.id = id
  }
}
