internal import DibitTensor

/// Turns blocks of quantised elements into floats, bit for bit as ggml does: the same products and sums, each rounded once.
///
/// A block holds a scale `d` (most often fp16) and codes of a few bits. The loops are short, have constant bounds and no branches, so
/// that they are compiled to vector instructions. The layouts are in `docs/formats/gguf.md`.
enum GGMLBlocks {
  /// Fills `target` with the elements of `source`, which need not be aligned.
  static func widen(_ source: Bytes, _ type: GGMLType, into target: inout MutableSpan<Float>) {
    let count = target.count / type.blockSize
    require(
      target.count == count * type.blockSize && source.count == count * type.blockBytes,
      "GGMLBlocks: \(source.count) bytes of \(type) into \(target.count) floats")
    // SAFETY: the guard above proves that block `i < count` lies within `source`, which outlives this call, and its elements in `target`.
    unsafe target.withUnsafeMutableBufferPointer { buffer in
      guard let out = buffer.baseAddress else { return }
      unsafe widen(source.pointer, type, count, out)
    }
  }

  @unsafe private static func widen(_ source: UnsafeRawPointer, _ type: GGMLType, _ count: Int, _ out: UnsafeMutablePointer<Float>) {
    switch type {
    case .q4_0: for i in 0..<count { unsafe q4_0(source + i * 18, out + i * 32) }
    case .q4_1: for i in 0..<count { unsafe q4_1(source + i * 20, out + i * 32) }
    case .q5_0: for i in 0..<count { unsafe q5_0(source + i * 22, out + i * 32) }
    case .q5_1: for i in 0..<count { unsafe q5_1(source + i * 24, out + i * 32) }
    case .q8_0: for i in 0..<count { unsafe q8_0(source + i * 34, out + i * 32) }
    case .q2K: for i in 0..<count { unsafe q2K(source + i * 84, out + i * 256) }
    case .q3K: for i in 0..<count { unsafe q3K(source + i * 110, out + i * 256) }
    case .q4K: for i in 0..<count { unsafe q4K(source + i * 144, out + i * 256) }
    case .q5K: for i in 0..<count { unsafe q5K(source + i * 176, out + i * 256) }
    case .q6K: for i in 0..<count { unsafe q6K(source + i * 210, out + i * 256) }
    case .q8K: for i in 0..<count { unsafe q8K(source + i * 292, out + i * 256) }
    case .iq4NL: for i in 0..<count { unsafe iq4NL(source + i * 18, out + i * 32) }
    case .iq4XS: for i in 0..<count { unsafe iq4XS(source + i * 136, out + i * 256) }
    case .mxfp4: for i in 0..<count { unsafe mxfp4(source + i * 17, out + i * 32) }
    case .tq1_0: for i in 0..<count { unsafe tq1_0(source + i * 54, out + i * 256) }
    case .tq2_0: for i in 0..<count { unsafe tq2_0(source + i * 66, out + i * 256) }
    case .q1_0: for i in 0..<count { unsafe q1_0(source + i * 18, out + i * 128) }
    case .q2_0: for i in 0..<count { unsafe q2_0(source + i * 18, out + i * 64) }
    default: require(false, "GGMLBlocks: \(type) has no blocks that can be read")
    }
  }
}

// SAFETY, for all extensions below and in the neighbouring files: callers pass a whole block and room for its elements.

/// Blocks of 32 with one scale.
extension GGMLBlocks {
  /// d, 16 bytes: low nibbles are the first half, high nibbles the second. (q - 8) d
  @inline(__always) @unsafe
  private static func q4_0(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let d = unsafe block.half(0)
    let q = unsafe block.bytes16(2)
    unsafe out.store(d * ((q & 15).floats - 8), at: 0)
    unsafe out.store(d * ((q &>> 4).floats - 8), at: 16)
  }

  /// d, m, nibbles as Q4_0. q d + m
  @inline(__always) @unsafe
  private static func q4_1(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let (d, m) = unsafe (block.half(0), block.half(2))
    let q = unsafe block.bytes16(4)
    unsafe out.store(d * (q & 15).floats + m, at: 0)
    unsafe out.store(d * (q &>> 4).floats + m, at: 16)
  }

  /// d, 32 fifth bits, nibbles as Q4_0. (q - 16) d
  @inline(__always) @unsafe
  private static func q5_0(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let d = unsafe block.half(0)
    let q = unsafe block.bytes16(6)
    unsafe out.store(d * ((q & 15 | fifthBits(block, 2)).floats - 16), at: 0)
    unsafe out.store(d * ((q &>> 4 | fifthBits(block, 4)).floats - 16), at: 16)
  }

  /// d, m, 32 fifth bits, nibbles as Q4_0. q d + m
  @inline(__always) @unsafe
  private static func q5_1(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let (d, m) = unsafe (block.half(0), block.half(2))
    let q = unsafe block.bytes16(8)
    unsafe out.store(d * (q & 15 | fifthBits(block, 4)).floats + m, at: 0)
    unsafe out.store(d * (q &>> 4 | fifthBits(block, 6)).floats + m, at: 16)
  }

  /// Sixteen bits as sixteen bytes of 0 or 16.
  @inline(__always) @unsafe
  private static func fifthBits(_ block: UnsafeRawPointer, _ offset: Int) -> SIMD16<UInt8> {
    let masks = SIMD16<UInt8>(1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128)
    let low = SIMD8<UInt8>(repeating: unsafe block.byte(offset))
    let high = SIMD8<UInt8>(repeating: unsafe block.byte(offset + 1))
    let set = SIMD16<UInt8>(lowHalf: low, highHalf: high) & masks .== masks
    return SIMD16<UInt8>(repeating: 0).replacing(with: 16, where: set)
  }

  /// d, 32 signed bytes. q d
  @inline(__always) @unsafe
  private static func q8_0(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let d = unsafe block.half(0)
    for i in 0..<2 { unsafe out.store(d * SIMD16<Int8>(truncatingIfNeeded: block.bytes16(2 + 16 * i)).floats, at: 16 * i) }
  }

  /// d, nibbles as Q4_0, which choose one of 16 values. v d
  @inline(__always) @unsafe
  private static func iq4NL(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let d = unsafe block.half(0)
    unsafe choose(block + 2, d, unevenLevels, out)
  }

  /// A byte e that stands for 2^(e - 128), nibbles as Q4_0, which choose one of 16 values. v d
  @inline(__always) @unsafe
  private static func mxfp4(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let e = UInt32(unsafe block.byte(0))
    // Half the power of two, because the values are doubled; the two smallest are subnormal.
    let d = Float(bitPattern: e < 2 ? 0x0020_0000 << e : (e &- 1) << 23)
    unsafe choose(block + 1, d, doubledE2M1, out)
  }

  /// Sixteen bytes of nibbles that choose levels.
  @inline(__always) @unsafe
  fileprivate static func choose(_ codes: UnsafeRawPointer, _ d: Float, _ levels: SIMD16<Float>, _ out: UnsafeMutablePointer<Float>) {
    unsafe withUnsafeBytes(of: d * levels) { table in
      guard let scaled = table.baseAddress else { return }
      for j in 0..<16 {
        // SAFETY: a nibble is less than the 16 levels.
        let code = Int(unsafe codes.byte(j))
        unsafe out[j] = scaled.load(fromByteOffset: (code & 15) * 4, as: Float.self)
        unsafe out[j + 16] = scaled.load(fromByteOffset: (code >> 4) * 4, as: Float.self)
      }
    }
  }

  private static let unevenLevels = SIMD16<Float>(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
  private static let doubledE2M1 = SIMD16<Float>(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)

  /// d, 2 bytes of high scale bits, 4 bytes of low scale bits, 8 groups of 16 bytes as IQ4_NL. v ((s - 32) d)
  @inline(__always) @unsafe
  private static func iq4XS(_ block: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>) {
    let d = unsafe block.half(0)
    let high = Int(unsafe block.byte(2)) | Int(unsafe block.byte(3)) << 8
    for g in 0..<8 {
      let low = Int(unsafe block.byte(4 + g / 2)) >> (4 * (g & 1)) & 15
      let scale = low | (high >> (2 * g) & 3) << 4
      unsafe choose(block + 8 + 16 * g, d * Float(scale - 32), unevenLevels, out + 32 * g)
    }
  }
}

extension UnsafeRawPointer {
  @inline(__always) @unsafe
  func byte(_ offset: Int) -> UInt8 { unsafe load(fromByteOffset: offset, as: UInt8.self) }

  @inline(__always) @unsafe
  func half(_ offset: Int) -> Float { Widening.half(unsafe loadUnaligned(fromByteOffset: offset, as: UInt16.self)) }

  @inline(__always) @unsafe
  func bytes16(_ offset: Int) -> SIMD16<UInt8> { unsafe loadUnaligned(fromByteOffset: offset, as: SIMD16<UInt8>.self) }
}

extension UnsafeMutablePointer<Float> {
  @inline(__always) @unsafe
  func store(_ values: SIMD16<Float>, at offset: Int) {
    unsafe UnsafeMutableRawPointer(self + offset).storeBytes(of: values, as: SIMD16<Float>.self)
  }
}

extension SIMD16 where Scalar == UInt8 {
  @inline(__always)
  var floats: SIMD16<Float> { SIMD16<Float>(SIMD16<Int32>(truncatingIfNeeded: self)) }
}

extension SIMD16 where Scalar == Int8 {
  @inline(__always)
  var floats: SIMD16<Float> { SIMD16<Float>(SIMD16<Int32>(truncatingIfNeeded: self)) }
}
