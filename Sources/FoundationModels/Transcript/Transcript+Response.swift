public import Foundation

extension Transcript {
  /// Something that a model said.
  public struct Response: Sendable, Identifiable, Equatable {
    /// The identifier.
    public var id: String
    /// The identifiers of the files that the model consists of.
    public var assetIDs: [String]
    /// The parts, in order.
    public var segments: [Segment]
    /// Values of whoever made it, and ``assetIDs`` under that name where there are any.
    public internal(set) var metadata: [String: GeneratedContent] = [:]

    /// A response.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - assetIDs: The identifiers of the files that the model consists of.
    ///   - segments: The parts, in order.
    public init(id: String = UUID().uuidString, assetIDs: [String], segments: [Segment]) {
      self.id = id
      self.assetIDs = assetIDs
      self.segments = segments
      if !assetIDs.isEmpty { metadata = ["assetIDs": assetIDs.generatedContent] }
    }

    /// A response of nobody's files.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - metadata: Values of whoever made it.
    ///   - segments: The parts, in order.
    public init(
      id: String = UUID().uuidString, metadata: [String: any ConvertibleToGeneratedContent] = [:], segments: [Segment]
    ) {
      self.init(id: id, assetIDs: [], segments: segments)
      self.metadata = metadata.contents
    }
  }
}
