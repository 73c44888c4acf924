/// Blocks of one, two or four levels less one.
extension GGMLBlocks {
  /// 48 + 4 bytes of base-3 digits, d. (digit - 1) d
  ///
  /// A byte holds five digits as a fraction of 256: digit t is the integer part of 3 frac(byte 3^t / 256). The first 32 bytes hold
  /// elements t 32 + l, the next 16 elements 160 + t 16 + l, the last four, of four digits each, elements 240 + t 4 + l.
  @inline(__always) @unsafe
  static func tq1_0(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let d = unsafe block.half(52)
    unsafe fiveDigits(block.bytes16(0), d, out, stride: 32)
    unsafe fiveDigits(block.bytes16(16), d, out + 16, stride: 32)
    unsafe fiveDigits(block.bytes16(32), d, out + 160, stride: 16)
    for byte in 0..<4 {
      var fraction = unsafe block.byte(48 + byte)
      for digit in 0..<4 {
        unsafe out[240 + 4 * digit + byte] = d * Float(((Int(fraction) * 3) >> 8) - 1)
        fraction = fraction &* 3
      }
    }
  }

  @inline(__always) @unsafe
  private static func fiveDigits(_ bytes: SIMD16<UInt8>, _ d: Float, _ out: UnsafeMutablePointer<Float>, stride: Int) {
    var fraction = bytes
    for digit in 0..<5 {
      unsafe out.store(d * (threefold(fraction) - 1), at: stride * digit)
      fraction = fraction &+ fraction &+ fraction
    }
  }

  /// The integer part of 3 x / 256.
  @inline(__always)
  private static func threefold(_ x: SIMD16<UInt8>) -> SIMD16<Float> {
    let wide = SIMD16<Int32>(truncatingIfNeeded: x)
    return SIMD16<Float>((wide &+ wide &+ wide) &>> 8)
  }

  /// 64 bytes of codes as Q2_K, d. (q - 1) d
  @inline(__always) @unsafe
  static func tq2_0(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let d = unsafe block.half(64)
    for half in 0..<2 {
      for part in 0..<2 {
        let q = unsafe block.bytes16(32 * half + 16 * part)
        for shift in 0..<4 {
          let codes = (q &>> SIMD16(repeating: UInt8(2 * shift))) & 3
          unsafe out.store(d * (codes.floats - 1), at: 128 * half + 32 * shift + 16 * part)
        }
      }
    }
  }

  /// d, 16 bytes with four neighbouring codes each, the first in the lowest bits. (q - 1) d
  @inline(__always) @unsafe
  static func q2_0(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let d = unsafe block.half(0)
    for byte in 0..<16 {
      // Masked where they lie and brought down as floats, which is exact: there is no shift by lane in the oldest instruction set.
      let fields = SIMD4<Int32>(repeating: Int32(unsafe block.byte(2 + byte))) & SIMD4(3, 12, 48, 192)
      let values = d * (SIMD4<Float>(fields) * SIMD4(1, 0.25, 0.0625, 0.015625) - 1)
      unsafe UnsafeMutableRawPointer(out + 4 * byte).storeBytes(of: values, as: SIMD4<Float>.self)
    }
  }

  /// d, 16 bytes with eight signs each, the first in the lowest bit. A set bit is d, others are -d.
  @inline(__always) @unsafe
  static func q1_0(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let d = unsafe block.half(0)
    for byte in 0..<16 {
      let bits = unsafe block.byte(2 + byte)
      for bit in 0..<8 { unsafe out[8 * byte + bit] = bits >> UInt8(bit) & 1 == 1 ? d : -d }
    }
  }
}
