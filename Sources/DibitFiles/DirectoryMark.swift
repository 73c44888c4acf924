/// The mark that tells an output directory of one kind from any other: only such a one is replaced.
package struct DirectoryMark: Sendable {
  /// The `format` in its manifest.json, which begins with "dibit-".
  let format: String
  /// The names of all files that such a directory may hold; what is called otherwise was put there by someone else.
  let files: Set<String>

  /// The mark of directories with this format, of which Dibit writes these files.
  package init(format: String, files: Set<String>) {
    self.format = format
    self.files = files
  }
}
