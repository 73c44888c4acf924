internal import DibitTensor

/// The SHA-256 digest of FIPS 180-4, fed piece by piece, with the CPU's own instructions where it has them.
///
/// Use it to identify files and data. It is not meant for secrets: nothing here runs in constant time.
package struct SHA256: Sendable {
  private var state: [UInt32] = [
    0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
  ]
  /// The last bytes, less than a block.
  private var pending: [UInt8] = []
  private var byteCount: UInt64 = 0
  private let isPortable: Bool

  private static let blockSize = SHA256Blocks.size

  /// The digest of an empty message, ready for more.
  package init() { self.init(portable: false) }

  /// With `portable`, the code for CPUs without instructions for SHA-256, so that a test can compare both.
  package init(portable: Bool) {
    isPortable = portable
    pending.reserveCapacity(Self.blockSize)
  }

  /// Adds bytes to the message.
  package mutating func update(_ bytes: Span<UInt8>) {
    byteCount += UInt64(bytes.count)
    var offset = 0
    if !pending.isEmpty {
      offset = min(Self.blockSize - pending.count, bytes.count)
      for index in 0..<offset { pending.append(bytes[index]) }
      guard pending.count == Self.blockSize else { return }
      let block = pending
      SHA256Blocks.compress(&state, block.span, portable: isPortable)
      pending.removeAll(keepingCapacity: true)
    }
    let whole = (bytes.count - offset) / Self.blockSize * Self.blockSize
    SHA256Blocks.compress(&state, bytes.extracting(offset..<offset + whole), portable: isPortable)
    for index in offset + whole..<bytes.count { pending.append(bytes[index]) }
  }

  /// Adds bytes to the message.
  package mutating func update(_ bytes: [UInt8]) { update(bytes.span) }

  /// Adds numbers to the message, four bytes each, the lowest first.
  package mutating func update(_ numbers: [Int32]) {
    for number in numbers { update(number.littleEndianBytes) }
  }

  /// The digest of everything added, as 64 lowercase hexadecimal digits.
  package consuming func finalize() -> String {
    finalizeWords().map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }.joined()
  }

  /// The digest of everything added, as eight words whose high bytes come first: for those who keep millions of digests.
  package consuming func finalizeWords() -> [UInt32] {
    let bits = byteCount * 8
    var tail: [UInt8] = [0x80]
    while (pending.count + tail.count) % Self.blockSize != 56 { tail.append(0) }
    for shift in stride(from: 56, through: 0, by: -8) { tail.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift))) }
    update(tail)
    return state
  }

  /// The digest of `bytes`.
  package static func digest(_ bytes: [UInt8]) -> String {
    var hash = SHA256()
    hash.update(bytes)
    return hash.finalize()
  }
}
