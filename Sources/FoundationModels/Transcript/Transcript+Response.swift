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
    }
  }
}
