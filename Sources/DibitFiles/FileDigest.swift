internal import DibitTensor

/// The SHA-256 of a file of any size, in hexadecimal; it is read from one end to the other and not held.
///
/// - Throws: ``FileError`` when it is missing, no regular file or cannot be read.
package func fileDigest(_ path: String) throws(FileError) -> String {
  var file = try SequentialFile(path)
  var hash = SHA256()
  while true {
    let bytes = try file.read(upTo: 1 << 20)
    if bytes.isEmpty { return hash.finalize() }
    hash.update(bytes)
  }
}
