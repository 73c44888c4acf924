import DibitTensor
import Testing

@testable import DibitCheckpoint

private func widened(_ source: [UInt8], _ dtype: DType) -> [Float] {
  var values = [Float](repeating: -1, count: source.count / dtype.byteCount)
  var span = values.mutableSpan
  Widening.widen(bytes(source), dtype, into: &span)
  return values
}

private func stored(_ elements: [some FixedWidthInteger]) -> [UInt8] {
  elements.flatMap { element in (0..<element.bitWidth / 8).map { UInt8(truncatingIfNeeded: element >> (8 * $0)) } }
}

@Suite struct WideningTests {
  private let halves = (0...UInt16.max).map { $0 }

  @Test func everyHalf() {
    for (code, value) in zip(halves, widened(stored(halves), .f16)) {
      let expected = Float(Float16(bitPattern: code))
      #expect(value.isNaN ? expected.isNaN : value.bitPattern == expected.bitPattern, "0x\(String(code, radix: 16))")
    }
    // A NaN keeps its payload and its sign.
    #expect(widened(stored([UInt16(0xFE01)]), .f16)[0].bitPattern == 0xFFC0_2000)
  }

  @Test func everyBFloat16() {
    #expect(widened(stored(halves), .bf16).map(\.bitPattern) == halves.map { UInt32($0) << 16 })
  }

  @Test func floatsKeepTheirBits() {
    let patterns: [UInt32] = [0, 0x8000_0000, 1, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 0x7F80_0001, 0x3F80_0000, 0x0080_0000]
    #expect(widened(stored(patterns), .f32).map(\.bitPattern) == patterns)
  }

  @Test func doublesAreRounded() {
    let doubles: [Double] = [1, -0.1, 1e300, -1e300, 0x1p-149, 1e-300, .infinity, .nan]
    let floats = widened(stored(doubles.map(\.bitPattern)), .f64)
    #expect(Array(floats.dropLast()) == [1, -0.1, .infinity, -.infinity, 0x1p-149, 0, .infinity])
    #expect(floats[7].isNaN)
  }

  @Test func everyFloat8() {
    let codes = (0...UInt8.max).map { $0 }
    let e5m2 = widened(codes, .f8e5m2)
    for code in codes {
      let half = Float(Float16(bitPattern: UInt16(code) << 8))
      #expect(half.isNaN ? e5m2[Int(code)].isNaN : e5m2[Int(code)] == half)
    }
    let e4m3 = widened(codes, .f8e4m3)
    // From the table of the OCP specification.
    let known: [(Int, Float)] = [
      (0x00, 0), (0x01, 0x1p-9), (0x07, 0.875 * 0x1p-6), (0x08, 0x1p-6), (0x38, 1), (0x3C, 1.5), (0x40, 2), (0x7E, 448), (0xFE, -448),
      (0xB8, -1),
    ]
    for (code, value) in known { #expect(e4m3[code] == value) }
    #expect(e4m3[0x80].bitPattern == 0x8000_0000)
    #expect(codes.filter { !e4m3[Int($0)].isFinite } == [0x7F, 0xFF] && e4m3[0x7F].isNaN)
    // Between neighbours of one sign the values rise, so none is out of place.
    for code in 1..<127 { #expect(e4m3[code] > e4m3[code - 1] && e4m3[code + 128] < e4m3[code + 127]) }
  }

  @Test func integers() {
    #expect(widened([0, 1, 2, 255], .bool) == [0, 1, 1, 1])
    #expect(widened([0, 128, 255], .u8) == [0, 128, 255])
    #expect(widened([0, 128, 255], .i8) == [0, -128, -1])
    #expect(widened(stored([0, .max] as [UInt16]), .u16) == [0, 65535])
    #expect(widened(stored([.min, -1, .max] as [Int16]), .i16) == [-32768, -1, 32767])
    #expect(widened(stored([.max, 16_777_217] as [UInt32]), .u32) == [0x1p32, 16_777_216])
    #expect(widened(stored([.min, -7] as [Int32]), .i32) == [-0x1p31, -7])
    #expect(widened(stored([.max, 3] as [UInt64]), .u64) == [0x1p64, 3])
    #expect(widened(stored([.min, -3] as [Int64]), .i64) == [-0x1p63, -3])
  }

  @Test func unalignedSources() {
    let source = bytes([9] + stored([UInt32(0x3F80_0000), 0x4000_0000]))
    var values: [Float] = [0, 0]
    var span = values.mutableSpan
    Widening.widen(source.slice(1..<9), .f32, into: &span)
    #expect(values == [1, 2])
  }

  @Test func nothingIsNothing() {
    for dtype in DType.allCases { #expect(widened([], dtype) == []) }
  }

  @Test func firstNonFiniteIsFound() {
    for (values, index) in [([1, 2], nil), ([1, 2, -.infinity, .nan], 2), ([.nan], 0), ([], nil)] as [([Float], Int?)] {
      let found = firstNonFinite(values.span)
      #expect(found == index)
    }
  }
}
