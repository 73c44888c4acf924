extension Transcript: Codable {
  private enum CodingKeys: String, CodingKey { case type, version, transcript }
  private enum BodyKeys: String, CodingKey { case entries }

  /// The value of `type` in every transcript.
  private static let typeName = "FoundationModels.Transcript"

  /// Reads a transcript of version 1 or "1.1". Members of 1.1 that this framework has no use for are ignored.
  ///
  /// A decoder does not tell the order of names, so the members of structured segments come back in the order of the alphabet. The arguments
  /// of calls keep theirs.
  ///
  /// - Parameters:
  ///   - decoder: The decoder, such as that of `JSONDecoder`.
  /// - Throws: `DecodingError` for what is no transcript, for other versions, and for unknown roles and types of segments.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let type = try container.decode(String.self, forKey: .type)
    guard type == Self.typeName else {
      throw DecodingError.dataCorruptedError(
        forKey: .type, in: container, debugDescription: "Expected the type '\(Self.typeName)', found '\(type)'.")
    }
    try Self.checkVersion(in: container)
    let body = try container.nestedContainer(keyedBy: BodyKeys.self, forKey: .transcript)
    self.init(entries: try body.decode([CodedEntry].self, forKey: .entries).map(\.entry))
  }

  /// Writes the transcript as version 1, or as "1.1" where it has what version 1 has not.
  ///
  /// - Parameters:
  ///   - encoder: The encoder, such as that of `JSONEncoder`.
  /// - Throws: `EncodingError` where a value cannot be written, such as a temperature that is not a number or a schema with a guide that does
  ///   not fit.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(Self.typeName, forKey: .type)
    if isNewer { try container.encode("1.1", forKey: .version) } else { try container.encode(1, forKey: .version) }
    var body = container.nestedContainer(keyedBy: BodyKeys.self, forKey: .transcript)
    try body.encode(entries.map(CodedEntry.init), forKey: .entries)
  }

  /// True where the transcript has entries or segments that version 1 has not.
  private var isNewer: Bool {
    #if FoundationModels27
      return entries.contains { entry in
        if case .reasoning = entry { return true }
        return entry.segments.contains { segment in
          switch segment {
          case .text, .structure: false
          case .attachment: true
          }
        }
      }
    #else
      return false
    #endif
  }

  private static func checkVersion(in container: KeyedDecodingContainer<CodingKeys>) throws {
    guard container.contains(.version) else {
      throw DecodingError.keyNotFound(
        CodingKeys.version, DecodingError.Context(codingPath: container.codingPath, debugDescription: "A transcript needs a version."))
    }
    let number = try? container.decode(Double.self, forKey: .version)
    let text = try? container.decode(String.self, forKey: .version)
    if number == 1 || text == "1.1" { return }
    let found = number.map { "\($0)" } ?? text.map { "'\($0)'" } ?? "something else"
    throw DecodingError.dataCorruptedError(
      forKey: .version, in: container, debugDescription: "Expected version 1 or '1.1' of a transcript, found \(found).")
  }
}
