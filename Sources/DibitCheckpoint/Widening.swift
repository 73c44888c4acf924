internal import CDibitBytes
internal import DibitTensor
internal import Glibc

/// Turns stored elements into floats. Exact for every dtype up to 16 bits and F32; F64 and wide integers are rounded to nearest.
/// NaN and infinity stay what they are, F32 and BF16 bit for bit.
enum Widening {
  /// Fills `target` with the elements of `source`, which need not be aligned.
  static func widen(_ source: Bytes, _ dtype: DType, into target: inout MutableSpan<Float>) {
    require(
      source.count == target.count * dtype.byteCount, "widen: \(source.count) bytes of \(dtype.rawValue) into \(target.count) floats")
    // SAFETY: the guard above proves that element `i < target.count` lies within `source`, which outlives this call.
    unsafe target.withUnsafeMutableBufferPointer { target in
      unsafe widen(source.pointer, dtype, into: target)
    }
  }

  // One loop per dtype, so that each is compiled to vector instructions.
  @unsafe private static func widen(_ source: UnsafeRawPointer, _ dtype: DType, into target: UnsafeMutableBufferPointer<Float>) {
    guard let out = target.baseAddress else { return }
    let count = target.count
    switch dtype {
    case .f32: unsafe memcpy(out, source, count * 4)
    case .bf16: for i in 0..<count { unsafe out[i] = Float(BFloat16(bitPattern: source.u16(i))) }
    case .f16: unsafe dibit_widen_f16(source, out, count)
    case .f64: for i in 0..<count { unsafe out[i] = Float(source.loadUnaligned(fromByteOffset: i * 8, as: Double.self)) }
    case .f8e4m3:
      let table = e4m3
      for i in 0..<count { unsafe out[i] = table[Int(source.load(fromByteOffset: i, as: UInt8.self))] }
    case .f8e5m2: for i in 0..<count { unsafe out[i] = half(UInt16(source.load(fromByteOffset: i, as: UInt8.self)) << 8) }
    case .bool: for i in 0..<count { unsafe out[i] = source.load(fromByteOffset: i, as: UInt8.self) == 0 ? 0 : 1 }
    case .u8: for i in 0..<count { unsafe out[i] = Float(source.load(fromByteOffset: i, as: UInt8.self)) }
    case .i8: for i in 0..<count { unsafe out[i] = Float(source.load(fromByteOffset: i, as: Int8.self)) }
    case .u16: for i in 0..<count { unsafe out[i] = Float(source.u16(i)) }
    case .i16: for i in 0..<count { unsafe out[i] = Float(Int16(bitPattern: source.u16(i))) }
    case .u32: for i in 0..<count { unsafe out[i] = Float(source.loadUnaligned(fromByteOffset: i * 4, as: UInt32.self)) }
    case .i32: for i in 0..<count { unsafe out[i] = Float(source.loadUnaligned(fromByteOffset: i * 4, as: Int32.self)) }
    case .u64: for i in 0..<count { unsafe out[i] = Float(source.loadUnaligned(fromByteOffset: i * 8, as: UInt64.self)) }
    case .i64: for i in 0..<count { unsafe out[i] = Float(source.loadUnaligned(fromByteOffset: i * 8, as: Int64.self)) }
    }
  }

  /// The float with the value of IEEE half bits. Arithmetic on the bits, because without F16C `Float(Float16)` is a call per element.
  @inline(__always)
  static func half(_ bits: UInt16) -> Float {
    let sign = UInt32(bits & 0x8000) << 16
    let magnitude = UInt32(bits & 0x7FFF) << 13
    // Normal: move the exponent's bias from 15 to 127. Infinity and NaN: all exponent bits, payload kept.
    let normal = magnitude &+ 112 << 23
    let special = magnitude | 0xFF << 23
    // Subnormal: m/1024 added to 2^-14 as a fraction, then 2^-14 taken away; exact.
    let small = Float(bitPattern: magnitude &+ 113 << 23) - 0x1p-14
    let value = magnitude < 1 << 23 ? small.bitPattern : magnitude >= 31 << 23 ? special : normal
    return Float(bitPattern: value | sign)
  }

  /// The values of F8_E4M3: bias 7, no infinity, NaN where all magnitude bits are one (OCP 8-bit floating point, 2023).
  private static let e4m3: [Float] = (0..<256).map { code in
    let (exponent, fraction) = (code >> 3 & 15, Float(code & 7))
    let finite = exponent == 0 ? fraction * 0x1p-9 : Float(sign: .plus, exponent: exponent - 7, significand: 1 + fraction / 8)
    let magnitude = code & 127 == 127 ? Float.nan : finite
    return code < 128 ? magnitude : -magnitude
  }
}

extension UnsafeRawPointer {
  @inline(__always)
  fileprivate func u16(_ index: Int) -> UInt16 { unsafe loadUnaligned(fromByteOffset: index * 2, as: UInt16.self) }
}
