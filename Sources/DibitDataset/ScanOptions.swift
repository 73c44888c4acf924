/// How far a scan goes.
public struct ScanOptions: Equatable, Sendable {
  /// Larger files are reported and left out, in bytes.
  public var maximumFileBytes: Int
  /// How many folders may lie inside each other below a label (or below the folder of a `TextFolder`); deeper ones are reported and left
  /// out.
  public var maximumDepth: Int
  /// How many paths the report keeps for each kind of finding. Counts are always complete.
  public var maximumPathsPerFinding: Int

  /// The defaults: 4 MiB, 16 folders, 20 paths.
  public init(maximumFileBytes: Int = 4 << 20, maximumDepth: Int = 16, maximumPathsPerFinding: Int = 20) {
    self.maximumFileBytes = maximumFileBytes
    self.maximumDepth = maximumDepth
    self.maximumPathsPerFinding = maximumPathsPerFinding
  }
}
