internal import DibitJSON

extension GenerationSchema {
  /// True if both schemas are the same JSON; two that no JSON can be made of, if they are shown alike.
  func isSame(as other: GenerationSchema) -> Bool {
    switch (jsonText, other.jsonText) {
    case (let text?, let otherText?): text == otherText
    case (nil, nil): debugDescription == other.debugDescription
    default: false
    }
  }

  /// True if the schema can be written.
  var isEncodable: Bool { jsonText != nil }

  private var jsonText: String? { try? jsonSchema().serialized() }
}
