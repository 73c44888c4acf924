internal import CDibitBytes

/// The SHA-256 digest of FIPS 180-4, fed piece by piece, with the CPU's own instructions where it has them.
///
/// Use it to identify files and data. It is not meant for secrets: nothing here runs in constant time.
public struct SHA256: Sendable {
  private var state: [UInt32] = [
    0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
  ]
  /// The last bytes, less than a block.
  private var pending: [UInt8] = []
  private var byteCount: UInt64 = 0
  private let isPortable: Bool

  private static let blockSize = 64

  /// The digest of an empty message, ready for more.
  public init() { self.init(portable: false) }

  /// With `portable`, the code for CPUs without instructions for SHA-256, so that a test can compare both.
  package init(portable: Bool) {
    isPortable = portable
    pending.reserveCapacity(Self.blockSize)
  }

  /// Adds bytes to the message.
  public mutating func update(_ bytes: Span<UInt8>) {
    byteCount += UInt64(bytes.count)
    var offset = 0
    if !pending.isEmpty {
      offset = min(Self.blockSize - pending.count, bytes.count)
      for index in 0..<offset { pending.append(bytes[index]) }
      guard pending.count == Self.blockSize else { return }
      let block = pending
      compress(block.span)
      pending.removeAll(keepingCapacity: true)
    }
    let whole = (bytes.count - offset) / Self.blockSize * Self.blockSize
    compress(bytes.extracting(offset..<offset + whole))
    for index in offset + whole..<bytes.count { pending.append(bytes[index]) }
  }

  /// Adds bytes to the message.
  public mutating func update(_ bytes: [UInt8]) { update(bytes.span) }

  /// The digest of everything added, as 64 lowercase hexadecimal digits.
  public consuming func finalize() -> String {
    let bits = byteCount * 8
    var tail: [UInt8] = [0x80]
    while (pending.count + tail.count) % Self.blockSize != 56 { tail.append(0) }
    for shift in stride(from: 56, through: 0, by: -8) { tail.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift))) }
    update(tail)
    return state.map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }.joined()
  }

  /// The digest of `bytes`.
  public static func digest(_ bytes: [UInt8]) -> String {
    var hash = SHA256()
    hash.update(bytes)
    return hash.finalize()
  }

  /// Adds whole blocks.
  private mutating func compress(_ blocks: Span<UInt8>) {
    let function = unsafe isPortable ? dibit_sha256_portable : dibit_sha256
    unsafe blocks.withUnsafeBufferPointer { blocks in
      unsafe state.withUnsafeMutableBufferPointer { state in
        guard let first = blocks.baseAddress, let words = state.baseAddress else { return }
        // SAFETY: eight words of state are ours, and the buffer holds this number of blocks within the closure.
        unsafe function(words, first, blocks.count / Self.blockSize)
      }
    }
  }
}
