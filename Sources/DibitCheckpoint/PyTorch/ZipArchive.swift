internal import DibitTensor

/// One file of a ZIP archive.
struct ZipEntry: Equatable, Sendable {
  let name: String
  /// 0 for stored bytes, 8 for deflated ones.
  let method: UInt16
  let checksum: UInt32
  /// The range of the entry's bytes in the file, as they are stored.
  let range: Range<Int>
}

/// A ZIP archive in which every byte has one meaning, checked completely when it is opened.
///
/// Readers that disagree on where an archive ends, which of two equal names counts, or whether a local header may contradict the
/// directory can be shown different contents. So the end record has no comment and is the end of the file; the central directory fills
/// the space before it; names are unique; local headers agree; and the entries fill the file up to the directory, without overlaps
/// and without holes. Archives that `torch.save` and `zip` write are of this kind.
struct ZipArchive: Sendable {
  private let bytes: Bytes
  /// The entries, in the order of their data.
  let entries: [ZipEntry]
  private let indices: [[UInt8]: Int]

  /// Checks the directory and the local headers; the data is not read.
  ///
  /// - Complexity: O(entries log entries).
  init(_ bytes: Bytes) throws(ZipFault) {
    self.bytes = bytes
    let directory = try ZipDirectory(bytes)
    var entries: [ZipEntry] = []
    entries.reserveCapacity(directory.records.count)
    var end = 0
    var previous = ""
    for record in directory.records.sorted(by: { $0.localOffset < $1.localOffset }) {
      let begin = Int(clamping: record.localOffset)
      guard begin >= end else { throw .overlap(entry: record.name, begin: begin, previous: previous, previousEnd: end) }
      guard begin == end else { throw .hole(entry: record.name, begin: begin, previousEnd: end) }
      let extent = try record.extent(in: bytes, limit: directory.begin)
      entries.append(ZipEntry(name: record.name, method: record.method, checksum: record.checksum, range: extent.data))
      end = extent.end
      previous = record.name
    }
    guard end == directory.begin else { throw .hole(entry: "the central directory", begin: directory.begin, previousEnd: end) }
    var indices: [[UInt8]: Int] = [:]
    indices.reserveCapacity(entries.count)
    for (index, entry) in entries.enumerated() {
      guard indices.updateValue(index, forKey: Array(entry.name.utf8)) == nil else { throw .duplicateName(entry.name) }
    }
    self.entries = entries
    self.indices = indices
  }

  /// The entry with exactly these UTF-8 bytes as its name, or nil.
  func entry(_ name: String) -> ZipEntry? { indices[Array(name.utf8)].map { entries[$0] } }

  /// The bytes of an entry of this archive, which must be stored.
  func bytes(of entry: ZipEntry) throws(ZipFault) -> Bytes {
    guard entry.method == 0 else { throw .compressed(entry: entry.name, method: entry.method) }
    return bytes.slice(entry.range)
  }

  /// The bytes of an entry after a look at their checksum.
  ///
  /// `torch.serialization.set_crc32_options(False)` writes a zero instead of every checksum: an archive of such is taken as it is.
  func checkedBytes(of entry: ZipEntry) throws(ZipFault) -> Bytes {
    let data = try bytes(of: entry)
    if entry.checksum == 0, entries.allSatisfy({ $0.checksum == 0 }) { return data }
    let found = CyclicRedundancyCheck.crc32(data)
    guard found == entry.checksum else { throw .checksum(entry: entry.name, expected: entry.checksum, found: found) }
    return data
  }
}

extension Bytes {
  /// A little-endian number. The caller has checked the range.
  func zipNumber<Number: FixedWidthInteger & UnsignedInteger>(_ offset: Int, _: Number.Type) -> Number {
    var number: Number = 0
    for index in (0..<Number.bitWidth / 8).reversed() { number = number << 8 | Number(self[offset + index]) }
    return number
  }
}
