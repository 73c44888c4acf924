internal import DibitFailure
internal import DibitTensor

/// One entry of a central directory, and the check of the local header that it points to.
struct ZipRecord {
  let name: String
  let flags: UInt16
  let method: UInt16
  let checksum: UInt32
  let storedSize: UInt64
  let size: UInt64
  let localOffset: UInt64
  /// The bytes that this entry takes in the directory.
  let directoryBytes: Int

  /// Bit 3: a descriptor with the sizes follows the data.
  private var hasDescriptor: Bool { flags & 8 != 0 }

  init(_ bytes: Bytes, at: Int, limit: Int) throws(ZipFault) {
    guard limit - at >= 46 else { throw .recordOutside(record: "central directory", offset: at, bytes: 46, limit: limit) }
    let signature = bytes.zipNumber(at, UInt32.self)
    guard signature == 0x0201_4B50 else {
      throw .signature(record: "central directory", offset: at, expected: 0x0201_4B50, found: signature)
    }
    let lengths = [28, 30, 32].map { Int(bytes.zipNumber(at + $0, UInt16.self)) }
    directoryBytes = 46 + lengths[0] + lengths[1] + lengths[2]
    guard limit - at >= directoryBytes else {
      throw .recordOutside(record: "central directory", offset: at, bytes: directoryBytes, limit: limit)
    }
    let utf8 = bytes.slice(at + 46..<at + 46 + lengths[0]).array
    guard let name = Self.name(utf8) else { throw .name(offset: at, found: String(decoding: utf8, as: UTF8.self)) }
    self.name = name
    flags = bytes.zipNumber(at + 8, UInt16.self)
    method = bytes.zipNumber(at + 10, UInt16.self)
    checksum = bytes.zipNumber(at + 16, UInt32.self)
    guard flags & 0x2041 == 0 else { throw .encrypted(entry: name) }
    // Bits 1 and 2 say how hard the compressor tried, bit 11 that the name is UTF-8.
    guard flags & ~0x080E == 0 else { throw .flags(entry: name, found: flags) }
    let narrow = (
      stored: bytes.zipNumber(at + 20, UInt32.self), size: bytes.zipNumber(at + 24, UInt32.self),
      disk: bytes.zipNumber(at + 34, UInt16.self),
      offset: bytes.zipNumber(at + 42, UInt32.self)
    )
    guard narrow.disk == 0 else { throw .multipleDisks(offset: at) }
    let extra = bytes.slice(at + 46 + lengths[0]..<at + 46 + lengths[0] + lengths[1])
    let wide = try Self.wide(extra, [narrow.size == .max, narrow.stored == .max, narrow.offset == .max], entry: name)
    size = wide[0] ?? UInt64(narrow.size)
    storedSize = wide[1] ?? UInt64(narrow.stored)
    localOffset = wide[2] ?? UInt64(narrow.offset)
    guard method != 0 || size == storedSize else {
      throw .field(record: "central directory", offset: at, field: "stored size", expected: size, found: storedSize)
    }
  }

  /// The name, if it is UTF-8 without zeros, backslashes and `..`, and does not begin with a slash.
  private static func name(_ utf8: [UInt8]) -> String? {
    guard let name = String(validating: utf8, as: UTF8.self), !utf8.isEmpty, utf8[0] != 0x2F, !utf8.contains(0), !utf8.contains(0x5C) else {
      return nil
    }
    return utf8.split(separator: 0x2F, omittingEmptySubsequences: false).contains { $0.elementsEqual("..".utf8) } ? nil : name
  }

  /// The 64-bit values of the fields that are too narrow, from the extra field 1.
  private static func wide(_ extra: Bytes, _ narrow: [Bool], entry: String) throws(ZipFault) -> [UInt64?] {
    var values = [UInt64?](repeating: nil, count: narrow.count)
    var found = false
    var position = 0
    while position < extra.count {
      guard extra.count - position >= 4 else {
        throw .extraField(entry: entry, reason: "4 bytes expected, \(extra.count - position) found")
      }
      let (id, length) = (extra.zipNumber(position, UInt16.self), Int(extra.zipNumber(position + 2, UInt16.self)))
      position += 4
      guard extra.count - position >= length else {
        throw .extraField(entry: entry, reason: "\(length) bytes expected, \(extra.count - position) found")
      }
      if id == 1 {
        guard !found else { throw .extraField(entry: entry, reason: "two ZIP64 fields found") }
        found = true
        var at = position
        for index in narrow.indices where narrow[index] {
          guard position + length - at >= 8 else {
            throw .extraField(entry: entry, reason: "a ZIP64 field of \(length) bytes is too short")
          }
          values[index] = extra.zipNumber(at, UInt64.self)
          at += 8
        }
      }
      position += length
    }
    guard found || !narrow.contains(true) else { throw .extraField(entry: entry, reason: "a ZIP64 field expected, none found") }
    return values
  }

  /// Returns the range of the data, and the end of the entry with its data descriptor; both before `limit`.
  func extent(in bytes: Bytes, limit: Int) throws(ZipFault) -> (data: Range<Int>, end: Int) {
    let at = Int(clamping: localOffset)
    guard at <= limit, limit - at >= 30 else { throw .recordOutside(record: "local header", offset: at, bytes: 30, limit: limit) }
    let signature = bytes.zipNumber(at, UInt32.self)
    guard signature == 0x0403_4B50 else {
      throw .signature(record: "local header", offset: at, expected: 0x0403_4B50, found: signature)
    }
    let lengths = [26, 28].map { Int(bytes.zipNumber(at + $0, UInt16.self)) }
    let begin = at + 30 + lengths[0] + lengths[1]
    guard begin <= limit else {
      throw .recordOutside(record: "local header", offset: at, bytes: 30 + lengths[0] + lengths[1], limit: limit)
    }
    let localName = bytes.slice(at + 30..<at + 30 + lengths[0]).array
    guard localName.elementsEqual(name.utf8) else {
      throw .localHeader(
        entry: name, offset: at, field: "name", expected: quoted(name), found: quoted(String(decoding: localName, as: UTF8.self)))
    }
    try same("flags", UInt64(flags), UInt64(bytes.zipNumber(at + 6, UInt16.self)), at)
    try same("method", UInt64(method), UInt64(bytes.zipNumber(at + 8, UInt16.self)), at)
    try checkSizes(bytes, at: at, extra: begin - lengths[1]..<begin)
    guard storedSize <= UInt64(limit - begin) else {
      throw .recordOutside(record: "data of " + quoted(name), offset: begin, bytes: Int(clamping: storedSize), limit: limit)
    }
    let data = begin..<begin + Int(storedSize)
    return (data: data, end: data.upperBound + (hasDescriptor ? try descriptorBytes(bytes, at: data.upperBound, limit: limit) : 0))
  }

  /// Checksum and sizes in the local header are those of the directory; before a descriptor they may be zero.
  private func checkSizes(_ bytes: Bytes, at: Int, extra: Range<Int>) throws(ZipFault) {
    let narrow = [18, 22].map { bytes.zipNumber(at + $0, UInt32.self) }
    let localChecksum = bytes.zipNumber(at + 14, UInt32.self)
    if hasDescriptor, localChecksum == 0, narrow == [0, 0] { return }
    try same("checksum", UInt64(checksum), UInt64(localChecksum), at)
    var (localStored, localSize) = (UInt64(narrow[0]), UInt64(narrow[1]))
    if narrow.contains(.max) {
      // Unlike in the directory, both sizes must be there.
      let wide = try Self.wide(bytes.slice(extra), [true, true], entry: name)
      localSize = wide[0] ?? 0
      localStored = wide[1] ?? 0
      if hasDescriptor, localSize == 0, localStored == 0 { return }
    }
    try same("stored size", storedSize, localStored, at)
    try same("size", size, localSize, at)
  }

  private func same(_ field: String, _ expected: UInt64, _ found: UInt64, _ offset: Int) throws(ZipFault) {
    guard expected == found else {
      throw .localHeader(entry: name, offset: offset, field: field, expected: "\(expected)", found: "\(found)")
    }
  }

  /// The size of the data descriptor: with or without signature, with sizes of 4 or 8 bytes, but with the directory's values.
  private func descriptorBytes(_ bytes: Bytes, at: Int, limit: Int) throws(ZipFault) -> Int {
    for signed in [true, false] {
      for width in [4, 8] {
        let length = (signed ? 4 : 0) + 4 + 2 * width
        guard limit - at >= length, !signed || bytes.zipNumber(at, UInt32.self) == 0x0807_4B50 else { continue }
        let fields = at + (signed ? 4 : 0)
        let sizes = [4, 4 + width].map {
          width == 4 ? UInt64(bytes.zipNumber(fields + $0, UInt32.self)) : bytes.zipNumber(fields + $0, UInt64.self)
        }
        guard bytes.zipNumber(fields, UInt32.self) == checksum, sizes == [storedSize, size] else { continue }
        // Sizes of zero fit both widths: an entry ends where the next record begins.
        let next = at + length
        if next == limit || limit - next >= 4 && bytes.zipNumber(next, UInt32.self) == 0x0403_4B50 { return length }
      }
    }
    throw .descriptor(entry: name, offset: at)
  }
}
