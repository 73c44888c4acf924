internal import DibitTensor

/// The end records and the central directory of a ZIP archive.
struct ZipDirectory {
  /// The beginning of the central directory: the entries end there.
  let begin: Int
  /// The entries, in the order of the directory.
  let records: [ZipRecord]

  init(_ bytes: Bytes) throws(ZipFault) {
    let end = try Self.end(bytes)
    begin = end.begin
    // 46 bytes are the least that an entry takes, so that the count cannot make us allocate more than the file is long.
    guard end.count <= UInt64((end.limit - end.begin) / 46) else {
      throw .entryCount(expected: end.count, found: (end.limit - end.begin) / 46)
    }
    var records: [ZipRecord] = []
    records.reserveCapacity(Int(end.count))
    var position = end.begin
    while position < end.limit {
      let record = try ZipRecord(bytes, at: position, limit: end.limit)
      records.append(record)
      position += record.directoryBytes
    }
    guard records.count == Int(end.count) else { throw .entryCount(expected: end.count, found: records.count) }
    self.records = records
  }

  /// Returns the offset of the central directory and its number of entries, from the end record and its 64-bit companion.
  private static func end(_ bytes: Bytes) throws(ZipFault) -> (begin: Int, limit: Int, count: UInt64) {
    let at = bytes.count - 22
    guard at >= 0, bytes.zipNumber(at, UInt32.self) == 0x0605_4B50, bytes.zipNumber(at + 20, UInt16.self) == 0 else {
      throw .endRecord(fileBytes: bytes.count)
    }
    let disks = [4, 6].map { bytes.zipNumber(at + $0, UInt16.self) }
    let counts = [8, 10].map { bytes.zipNumber(at + $0, UInt16.self) }
    let (size, offset) = (bytes.zipNumber(at + 12, UInt32.self), bytes.zipNumber(at + 16, UInt32.self))
    var directory = (count: UInt64(counts[1]), size: UInt64(size), offset: UInt64(offset))
    var limit = at
    if let wide = try wideEnd(bytes, before: at) {
      limit = wide.at
      directory = (wide.count, wide.size, wide.offset)
      // The narrow fields say the same, or that they are too narrow.
      let pairs = [
        ("count", UInt64(counts[1]), wide.count, UInt64(UInt16.max)), ("directory size", UInt64(size), wide.size, UInt64(UInt32.max)),
        ("directory offset", UInt64(offset), wide.offset, UInt64(UInt32.max)),
      ]
      for (field, narrow, wide, most) in pairs where narrow != wide && narrow != most {
        throw .field(record: "end record", offset: at, field: field, expected: wide, found: narrow)
      }
      guard disks.allSatisfy({ $0 == 0 || $0 == .max }) else { throw .multipleDisks(offset: at) }
    } else {
      guard disks == [0, 0] else { throw .multipleDisks(offset: at) }
    }
    guard counts[0] == counts[1] else {
      throw .field(record: "end record", offset: at, field: "entries on this disk", expected: UInt64(counts[1]), found: UInt64(counts[0]))
    }
    let (end, overflow) = directory.offset.addingReportingOverflow(directory.size)
    guard !overflow, end == UInt64(limit) else {
      throw .directory(offset: directory.offset, bytes: directory.size, expectedEnd: limit)
    }
    return (begin: Int(directory.offset), limit: limit, count: directory.count)
  }

  /// The ZIP64 end record, where a locator points to it.
  private static func wideEnd(
    _ bytes: Bytes, before at: Int
  ) throws(ZipFault) -> (at: Int, count: UInt64, size: UInt64, offset: UInt64)? {
    let locator = at - 20
    guard locator >= 0, bytes.zipNumber(locator, UInt32.self) == 0x0706_4B50 else { return nil }
    guard bytes.zipNumber(locator + 4, UInt32.self) == 0, bytes.zipNumber(locator + 16, UInt32.self) == 1 else {
      throw .multipleDisks(offset: locator)
    }
    let record = locator - 56
    guard record >= 0 else { throw .recordOutside(record: "ZIP64 end record", offset: 0, bytes: 56, limit: locator) }
    let offset = bytes.zipNumber(locator + 8, UInt64.self)
    guard offset == UInt64(record) else {
      throw .field(record: "ZIP64 locator", offset: locator, field: "offset", expected: UInt64(record), found: offset)
    }
    let signature = bytes.zipNumber(record, UInt32.self)
    guard signature == 0x0606_4B50 else {
      throw .signature(record: "ZIP64 end record", offset: record, expected: 0x0606_4B50, found: signature)
    }
    let size = bytes.zipNumber(record + 4, UInt64.self)
    guard size == 44 else { throw .field(record: "ZIP64 end record", offset: record, field: "size", expected: 44, found: size) }
    guard bytes.zipNumber(record + 16, UInt64.self) == 0 else { throw .multipleDisks(offset: record) }
    let counts = [24, 32].map { bytes.zipNumber(record + $0, UInt64.self) }
    guard counts[0] == counts[1] else {
      throw .field(record: "ZIP64 end record", offset: record, field: "entries on this disk", expected: counts[1], found: counts[0])
    }
    return (
      at: record, count: counts[1], size: bytes.zipNumber(record + 40, UInt64.self), offset: bytes.zipNumber(record + 48, UInt64.self)
    )
  }
}
