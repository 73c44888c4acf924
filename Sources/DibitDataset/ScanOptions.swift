/// The limits of a scan.
package struct ScanOptions: Equatable, Sendable {
  /// Larger files are reported and left out, in bytes.
  package var maximumFileBytes: Int
  /// The number of folders that may lie inside each other below a label (or below the folder of a `TextFolder`); deeper ones are reported
  /// and left out.
  package var maximumDepth: Int
  /// The number of paths that the report keeps for each kind of finding. Counts are always complete.
  package var maximumPathsPerFinding: Int

  /// The largest file that is read as one text, in training and in use, in bytes: far more than fits any model.
  package static let largestText = 16 << 20

  /// Returns the detail of a finding about a file that is too large.
  static func excess(_ bytes: Int, limit: Int) -> String { "at most \(limit) bytes expected in one text, \(bytes) found" }

  /// The defaults: ``largestText``, 16 folders, 20 paths.
  package init(maximumFileBytes: Int = ScanOptions.largestText, maximumDepth: Int = 16, maximumPathsPerFinding: Int = 20) {
    self.maximumFileBytes = maximumFileBytes
    self.maximumDepth = maximumDepth
    self.maximumPathsPerFinding = maximumPathsPerFinding
  }
}
