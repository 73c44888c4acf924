/// Writes ZIP archives, right ones and wrong ones.
package struct ZipMaker: Sendable {
  /// One file of the archive.
  package struct Entry: Sendable {
    /// What the central directory calls it.
    package var name: String
    /// Its bytes, stored as they are.
    package var data: [UInt8]
    /// How the headers say that it is compressed.
    package var method: UInt16 = 0
    /// The general purpose bits; with bit 3 a data descriptor follows.
    package var flags: UInt16 = 0
    /// What only the local header calls it.
    package var localName: String?
    /// The CRC-32 that the headers say, where it is not the right one.
    package var checksum: UInt32?

    /// An entry that is right.
    package init(name: String, data: [UInt8]) {
      self.name = name
      self.data = data
    }
  }

  /// The files, in order.
  package var entries: [Entry]
  /// Whether there is a ZIP64 end record.
  package var isWide = false
  /// Sizes and offsets in extra fields.
  package var hasWideEntries = false
  /// What follows the end record.
  package var comment: [UInt8] = []
  /// Added to the number of entries that the end record says.
  package var countChange = 0

  /// An archive of these entries.
  package init(entries: [Entry]) { self.entries = entries }

  /// The archive, and where its records begin.
  package func make() -> (bytes: [UInt8], locals: [Int], centrals: [Int], end: Int) {
    var (bytes, locals, directory, centrals) = ([UInt8](), [Int](), [UInt8](), [Int]())
    for entry in entries {
      let sum = entry.checksum ?? crc32(entry.data)
      let size = UInt64(entry.data.count)
      let wide = hasWideEntries ? number(1, 2) + number(24, 2) + number(size, 8) + number(size, 8) + number(UInt64(bytes.count), 8) : []
      let narrow = hasWideEntries ? UInt64(UInt32.max) : size
      let common = number(UInt64(entry.flags), 2) + number(UInt64(entry.method), 2) + number(0, 4)
      let sizes = number(UInt64(sum), 4) + number(narrow, 4) + number(narrow, 4)
      let name = Array((entry.localName ?? entry.name).utf8)
      locals.append(bytes.count)
      let described = entry.flags & 8 != 0
      let at = bytes.count
      let localWide = described ? [] : wide.isEmpty ? [] : Array(wide.prefix(2)) + number(16, 2) + wide[4..<20]
      bytes += number(0x0403_4B50, 4) + number(20, 2) + common + (described ? number(0, 12) : sizes)
      bytes += number(UInt64(name.count), 2) + number(UInt64(localWide.count), 2) + name + localWide + entry.data
      if described { bytes += number(0x0807_4B50, 4) + number(UInt64(sum), 4) + number(size, 4) + number(size, 4) }
      centrals.append(directory.count)
      let offset = hasWideEntries ? UInt64(UInt32.max) : UInt64(at)
      directory += number(0x0201_4B50, 4) + number(20, 2) + number(20, 2) + common + sizes
      directory += number(UInt64(entry.name.utf8.count), 2) + number(UInt64(wide.count), 2) + number(0, 10) + number(offset, 4)
      directory += Array(entry.name.utf8) + wide
    }
    let begin = bytes.count
    bytes += directory
    let count = UInt64(entries.count + countChange)
    if isWide {
      let record = bytes.count
      bytes += number(0x0606_4B50, 4) + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) + number(count, 8) + number(count, 8)
      bytes += number(UInt64(directory.count), 8) + number(UInt64(begin), 8)
      bytes += number(0x0706_4B50, 4) + number(0, 4) + number(UInt64(record), 8) + number(1, 4)
    }
    let end = bytes.count
    bytes += number(0x0605_4B50, 4) + number(0, 4) + number(isWide ? 0xFFFF : count, 2) + number(isWide ? 0xFFFF : count, 2)
    bytes += number(isWide ? 0xFFFF_FFFF : UInt64(directory.count), 4) + number(isWide ? 0xFFFF_FFFF : UInt64(begin), 4)
    bytes += number(UInt64(comment.count), 2) + comment
    return (bytes: bytes, locals: locals, centrals: centrals.map { begin + $0 }, end: end)
  }

  private func number(_ value: UInt64, _ size: Int) -> [UInt8] {
    (0..<size).map { $0 < 8 ? UInt8(truncatingIfNeeded: value >> (8 * $0)) : 0 }
  }
}

extension ZipMaker {
  /// An archive as `torch.save` writes it.
  package static func torch(_ value: Python, _ storages: [(key: String, data: [UInt8])] = [], prefix: String = "archive") -> ZipMaker {
    torch(value.pickle(), storages, prefix: prefix)
  }

  /// The same with a pickle as it is.
  package static func torch(_ pickle: [UInt8], _ storages: [(key: String, data: [UInt8])] = [], prefix: String = "archive") -> ZipMaker {
    let data = storages.map { Entry(name: prefix + "/data/" + $0.key, data: $0.data) }
    return ZipMaker(
      entries: [Entry(name: prefix + "/data.pkl", data: pickle), Entry(name: prefix + "/byteorder", data: Array("little".utf8))] + data
        + [Entry(name: prefix + "/version", data: Array("3\n".utf8))])
  }
}

/// The CRC-32 of ZIP, bit by bit from its polynomial.
func crc32(_ bytes: [UInt8]) -> UInt32 {
  var sum = UInt32.max
  for byte in bytes {
    sum ^= UInt32(byte)
    for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0xEDB8_8320 : 0) }
  }
  return ~sum
}

/// The eight bytes of a number, the lowest first.
func littleEndian(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }

/// Little-endian bytes of floats.
package func floatBytes(_ values: [Float]) -> [UInt8] { values.flatMap { littleEndian(UInt64($0.bitPattern)).prefix(4) } }
