package import DibitTensor
internal import Glibc

/// A regular file mapped read-only: its bytes are read from the disk when they are first used.
///
/// Use it for files of any size. Do not use it for files that another process may shorten meanwhile: the system then stops
/// this process at the first missing byte. Outputs of this module are replaced by renaming, which leaves mappings intact.
package struct MappedFile: Sendable {
  /// The path it was opened with.
  package let path: String
  /// The whole file; slices keep the mapping alive.
  package let bytes: Bytes
  private let isMapped: Bool

  /// Bytes in memory that stand for a file called `name`.
  package init(memory bytes: Bytes, named name: String) {
    path = name
    self.bytes = bytes
    isMapped = false
  }

  /// Maps the file at `path`.
  ///
  /// - Throws: ``FileError`` when it is missing, no regular file, unreadable or empty.
  package init(path: String) throws(FileError) {
    let file = try FileDescriptor.open(reading: path)
    let size = try file.status().size
    guard size > 0 else { throw .emptyFile(path: path) }
    // SAFETY: a new mapping at an address that the system chooses touches no memory of ours.
    guard let base = unsafe mmap(nil, size, PROT_READ, MAP_PRIVATE, file.number, 0), unsafe base != MAP_FAILED else {
      throw .system(operation: "map", path: path, code: errno)
    }
    self.path = path
    isMapped = true
    // SAFETY: the mapping covers `size` bytes, is never written, and is given back once, by its last owner.
    bytes = Bytes(unsafe SharedBytes(adopting: base, count: size) { base, count in unsafe munmap(base, count) })
  }

  /// Lets the system forget the pages of `range`, so that streaming through a large file keeps resident memory small.
  ///
  /// The bytes stay readable: a page that is used again is read again.
  package func discard(_ range: Range<Int>) {
    let range = range.clamped(to: 0..<bytes.count)
    guard isMapped, !range.isEmpty else { return }
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let begin = range.lowerBound / page * page
    // SAFETY: the addresses lie within the mapping, and dropping clean pages of a private read-only mapping changes no byte.
    unsafe _ = madvise(UnsafeMutableRawPointer(mutating: bytes.pointer + begin), range.upperBound - begin, MADV_DONTNEED)
  }
}

/// Reads a small file whole.
///
/// - Throws: ``FileError`` when it is missing, no regular file, unreadable, or longer than `limit` bytes.
package func readFile(_ path: String, limit: Int) throws(FileError) -> [UInt8] {
  let file = try FileDescriptor.open(reading: path)
  let size = try file.status().size
  guard size <= limit else { throw .tooLarge(path: path, limit: limit, found: size) }
  // Files under /proc say that they have no bytes.
  return try file.read(upTo: size == 0 ? min(limit, 65_536) : size)
}
