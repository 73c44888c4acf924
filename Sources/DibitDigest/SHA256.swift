/// The SHA-256 digest of FIPS 180-4, fed piece by piece.
///
/// Use it to identify files and data. It is not meant for secrets: nothing here runs in constant time.
public struct SHA256: Sendable {
  private var state: [UInt32] = [
    0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
  ]
  private var pending: [UInt8] = []
  private var byteCount: UInt64 = 0
  private var schedule = [UInt32](repeating: 0, count: 64)

  /// The digest of an empty message, ready for more.
  public init() { pending.reserveCapacity(128) }

  /// Adds bytes to the message.
  public mutating func update(_ bytes: Span<UInt8>) {
    byteCount += UInt64(bytes.count)
    var offset = 0
    if !pending.isEmpty {
      let taken = min(64 - pending.count, bytes.count)
      for index in 0..<taken { pending.append(bytes[index]) }
      offset = taken
      guard pending.count == 64 else { return }
      let block = pending
      compress(block.span, at: 0)
      pending.removeAll(keepingCapacity: true)
    }
    while bytes.count - offset >= 64 {
      compress(bytes, at: offset)
      offset += 64
    }
    for index in offset..<bytes.count { pending.append(bytes[index]) }
  }

  /// Adds bytes to the message.
  public mutating func update(_ bytes: [UInt8]) { update(bytes.span) }

  /// The digest of everything added, as 64 lowercase hexadecimal digits.
  public consuming func finalize() -> String {
    let bits = byteCount * 8
    var tail: [UInt8] = [0x80]
    while (pending.count + tail.count) % 64 != 56 { tail.append(0) }
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

  private mutating func compress(_ block: Span<UInt8>, at offset: Int) {
    for word in 0..<16 {
      var value: UInt32 = 0
      for byte in 0..<4 { value = value << 8 | UInt32(block[offset + word * 4 + byte]) }
      schedule[word] = value
    }
    for word in 16..<64 {
      let (a, b) = (schedule[word - 15], schedule[word - 2])
      let s0 = a.rotated(7) ^ a.rotated(18) ^ (a >> 3)
      let s1 = b.rotated(17) ^ b.rotated(19) ^ (b >> 10)
      schedule[word] = schedule[word - 16] &+ s0 &+ schedule[word - 7] &+ s1
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for round in 0..<64 {
      let t1 =
        h &+ (e.rotated(6) ^ e.rotated(11) ^ e.rotated(25)) &+ (e & f ^ ~e & g) &+ roundConstants[round] &+ schedule[round]
      let t2 = (a.rotated(2) ^ a.rotated(13) ^ a.rotated(22)) &+ (a & b ^ a & c ^ b & c)
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ t1, c, b, a, t1 &+ t2)
    }
    for (index, value) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= value }
  }
}

extension UInt32 {
  fileprivate func rotated(_ count: UInt32) -> UInt32 { self >> count | self << (32 - count) }
}

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
private let roundConstants: [UInt32] = {
  var primes: [UInt64] = []
  var candidate: UInt64 = 2
  while primes.count < 64 {
    if primes.allSatisfy({ candidate % $0 != 0 }) { primes.append(candidate) }
    candidate += 1
  }
  return primes.map { prime in
    // floor(cuberoot(prime) * 2^32) by bisection on integers: x^3 <= prime * 2^96, with 128-bit products.
    var (low, high) = (UInt128(0), UInt128(1) << 35)
    let target = UInt128(prime) << 96
    while high - low > 1 {
      let middle = (low + high) / 2
      if middle * middle * middle <= target { low = middle } else { high = middle }
    }
    return UInt32(truncatingIfNeeded: low)
  }
}()
