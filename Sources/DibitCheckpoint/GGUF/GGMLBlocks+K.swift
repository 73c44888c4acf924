/// Blocks of 256 whose groups of 16 or 32 have scales of a few bits each.
extension GGMLBlocks {
  /// 16 bytes with scale and minimum as nibbles, 64 bytes of codes, d, dmin. q (d scale) - dmin minimum
  ///
  /// Codes: each half of 128 takes 32 bytes, whose lowest two bits are its first 32 elements, the next two bits the next 32, …
  @inline(__always) @unsafe
  static func q2K(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let (d, dmin) = unsafe (block.half(80), block.half(82))
    for half in 0..<2 {
      for part in 0..<2 {
        let q = unsafe block.bytes16(16 + 32 * half + 16 * part)
        for shift in 0..<4 {
          let group = 8 * half + 2 * shift + part
          let packed = unsafe block.byte(group)
          let (scale, minimum) = (d * Float(packed & 15), dmin * Float(packed >> 4))
          let codes = (q &>> SIMD16(repeating: UInt8(2 * shift))) & 3
          unsafe out.store(scale * codes.floats - minimum, at: 16 * group)
        }
      }
    }
  }

  /// 32 bytes of inverted third bits, 64 bytes of codes as Q2_K, 12 bytes of 6-bit scales, d. (q - 4 inverted) (d (scale - 32))
  @inline(__always) @unsafe
  static func q3K(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let d = unsafe block.half(108)
    for half in 0..<2 {
      for part in 0..<2 {
        let q = unsafe block.bytes16(32 + 32 * half + 16 * part)
        let high = unsafe block.bytes16(16 * part)
        for shift in 0..<4 {
          let group = 8 * half + 2 * shift + part
          let low = unsafe block.byte(96 + group % 8) >> UInt8(group < 8 ? 0 : 4) & 15
          let upper = unsafe block.byte(104 + group % 4) >> UInt8(2 * (group / 4)) & 3
          let scale = d * Float(Int(low | upper << 4) - 32)
          let codes = (q &>> SIMD16(repeating: UInt8(2 * shift))) & 3
          let third = (high &>> SIMD16(repeating: UInt8(4 * half + shift))) & 1
          unsafe out.store(scale * ((codes | third &<< 2).floats - 4), at: 16 * group)
        }
      }
    }
  }

  /// d, dmin, 12 bytes with 8 scales and 8 minima of 6 bits, 128 bytes of nibbles. q (d scale) - dmin minimum
  ///
  /// Nibbles: each 32 bytes hold two groups of 32, the first in their low nibbles.
  @inline(__always) @unsafe
  static func q4K(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let (d, dmin) = unsafe (block.half(0), block.half(2))
    for group in 0..<8 {
      let (scale, minimum) = unsafe sixBits(block + 4, group)
      let (ds, dm) = (d * scale, dmin * minimum)
      for part in 0..<2 {
        let q = unsafe block.bytes16(16 + 32 * (group / 2) + 16 * part)
        let codes = (q &>> SIMD16(repeating: UInt8(4 * (group & 1)))) & 15
        unsafe out.store(ds * codes.floats - dm, at: 32 * group + 16 * part)
      }
    }
  }

  /// As Q4_K with 32 bytes of fifth bits before the nibbles: bit g of byte l belongs to element l of group g.
  @inline(__always) @unsafe
  static func q5K(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let (d, dmin) = unsafe (block.half(0), block.half(2))
    for group in 0..<8 {
      let (scale, minimum) = unsafe sixBits(block + 4, group)
      let (ds, dm) = (d * scale, dmin * minimum)
      for part in 0..<2 {
        let q = unsafe block.bytes16(48 + 32 * (group / 2) + 16 * part)
        let fifth = (unsafe block.bytes16(16 + 16 * part) &>> SIMD16(repeating: UInt8(group))) & 1
        let codes = (q &>> SIMD16(repeating: UInt8(4 * (group & 1)))) & 15
        unsafe out.store(ds * (codes | fifth &<< 4).floats - dm, at: 32 * group + 16 * part)
      }
    }
  }

  /// Scale and minimum of a group. Bytes 0..3 hold the scales of groups 0..3 in six bits, bytes 4..7 their minima; bytes 8..11 hold
  /// the low four bits of scale and minimum of groups 4..7, and the upper two bits of bytes 0..7 the rest of those.
  @inline(__always) @unsafe
  private static func sixBits(_ packed: UnsafeRawPointer, _ group: Int) -> (scale: Float, minimum: Float) {
    if group < 4 { return (Float(unsafe packed.byte(group) & 63), Float(unsafe packed.byte(group + 4) & 63)) }
    let both = unsafe packed.byte(group + 4)
    let (upper, upperMinimum) = unsafe (packed.byte(group - 4) >> 6, packed.byte(group) >> 6)
    let scale = both & 15 | upper << 4
    let minimum = both >> 4 | upperMinimum << 4
    return (Float(scale), Float(minimum))
  }

  /// 128 bytes of low nibbles, 64 bytes of upper two bits, 16 signed scales, d. (q - 32) (d scale)
  ///
  /// Each half of 128 elements takes 64 nibble bytes (quarters 0, 1 in the low nibbles, 2, 3 in the high ones) and 32 bytes of bits.
  @inline(__always) @unsafe
  static func q6K(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let d = unsafe block.half(208)
    for half in 0..<2 {
      for part in 0..<2 {
        let high = unsafe block.bytes16(128 + 32 * half + 16 * part)
        for quarter in 0..<4 {
          let group = 8 * half + 2 * quarter + part
          let scale = d * Float(Int8(bitPattern: unsafe block.byte(192 + group)))
          let low = unsafe block.bytes16(64 * half + 32 * (quarter & 1) + 16 * part)
          let nibbles = (low &>> SIMD16(repeating: UInt8(4 * (quarter / 2)))) & 15
          let upper = (high &>> SIMD16(repeating: UInt8(2 * quarter))) & 3
          unsafe out.store(scale * ((nibbles | upper &<< 4).floats - 32), at: 16 * group)
        }
      }
    }
  }

  /// d as a float, 256 signed bytes, 32 bytes of sums. q d
  @inline(__always) @unsafe
  static func q8K(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let d = Float(bitPattern: unsafe block.loadUnaligned(as: UInt32.self))
    for i in 0..<16 { unsafe out.store(d * SIMD16<Int8>(truncatingIfNeeded: block.bytes16(4 + 16 * i)).floats, at: 16 * i) }
  }
}
