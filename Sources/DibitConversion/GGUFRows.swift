internal import DibitCheckpoint
internal import DibitKernels
internal import DibitTensor

/// How a weight is stored in a GGUF file without any change of value.
///
/// Codes c of `bits` bits stand for (c - (2^bits - 1) / 2) s. Where a row has one scale, Q2_K and Q4_K hold just that: both make
/// d S q - d m M of a code q, with d = s/2, S = 2 and M = 3 or 15. With a scale for each group, a value is s/2 times an odd number, from -3 to
/// 3 or from -15 to 15: what Q4_0 and Q5_0 hold in blocks of 32 with a d for each, d (q - 8) and d (q - 16). No smaller type does: those with
/// a minimum (Q4_1) would need 7.5 s as an fp16 number, the K types whole ratios of the scales within 256 weights. Where half a scale is no
/// fp16 number, or the length of a row is no multiple of a block, F32 remains, which holds every value.
struct GGUFRows {
  let type: GGMLType
  private let bits: Int
  private let group: Int

  /// The type for a weight, from its scales; nothing else decides it.
  init(_ weight: Weight) {
    guard case .grid(let bits, let group) = weight.format else {
      (bits, group) = (0, 0)
      type = weight.format == .f16 ? .f16 : weight.format == .bf16 ? .bf16 : .f32
      return
    }
    let length = min(group, weight.columns)
    (self.bits, self.group) = (bits, length)
    let scales = Self.scales(weight, 0..<weight.rows)
    let areHalvable = scales.allSatisfy { $0.isFinite && Float(Float16(Float($0) / 2)) == Float($0) / 2 }
    if areHalvable, length == weight.columns, weight.columns % 256 == 0 {
      type = bits == 2 ? .q2K : .q4K
    } else if areHalvable, weight.columns % 32 == 0, length % 32 == 0 || length == weight.columns {
      type = bits == 2 ? .q4_0 : .q5_0
    } else {
      type = .f32
    }
  }

  /// The stored bytes of rows whose values, `(c - offset) s`, are `values: [rows, columns]`.
  func encode(_ values: borrowing Matrix, _ weight: Weight, rows: Range<Int>) -> [UInt8] {
    let scales = Self.scales(weight, rows)
    let groups = scales.count / max(rows.count, 1)
    var bytes: [UInt8] = []
    for row in 0..<rows.count {
      let own = Array(scales[row * groups..<(row + 1) * groups])
      // Twice the value over the scale is an odd whole number; a scale of zero has any.
      let odds = (0..<weight.columns).map { column -> Int in
        let scale = Float(own[column / group])
        return scale == 0 ? 1 : Int((2 * values[row, column] / scale).rounded())
      }
      switch type {
      case .q2K: bytes += GGUFQ2K.encode(codes: odds.map { UInt8(($0 + 3) / 2) }, scales: [own[0]]) ?? []
      case .q4K: bytes += Self.q4K(odds.map { UInt8(($0 + 15) / 2) }, scale: own[0])
      case .q4_0: bytes += Self.blocks(odds.map { $0 + 8 }, scales: own, group: group, hasFifthBits: false)
      default: bytes += Self.blocks(odds.map { $0 + 16 }, scales: own, group: group, hasFifthBits: true)
      }
    }
    return bytes
  }

  /// Blocks of 256: d and dmin, eight 6-bit factors of each, and codes of four bits, 32 low ones beside 32 high ones.
  private static func q4K(_ codes: [UInt8], scale: Float16) -> [UInt8] {
    var bytes: [UInt8] = []
    for first in stride(from: 0, to: codes.count, by: 256) {
      for _ in 0..<2 { bytes += half(scale / 2) }
      bytes += [2, 2, 2, 2, 15, 15, 15, 15, 0xF2, 0xF2, 0xF2, 0xF2]
      for part in stride(from: first, to: first + 256, by: 64) {
        for element in part..<part + 32 { bytes.append(codes[element] | codes[element + 32] << 4) }
      }
    }
    return bytes
  }

  /// Blocks of 32: d, with five bits the fifth of each code, and the others, 16 low ones beside 16 high ones.
  private static func blocks(_ codes: [Int], scales: [Float16], group: Int, hasFifthBits: Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    for first in stride(from: 0, to: codes.count, by: 32) {
      bytes += half(scales[first / group] / 2)
      if hasFifthBits {
        let high = (0..<32).reduce(UInt32(0)) { $0 | UInt32(truncatingIfNeeded: codes[first + $1] >> 4) << UInt32($1) }
        for shift in [0, 8, 16, 24] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: high >> shift)) }
      }
      for element in first..<first + 16 { bytes.append(UInt8(codes[element] & 15 | (codes[element + 16] & 15) << 4)) }
    }
    return bytes
  }

  private static func half(_ value: Float16) -> [UInt8] { [UInt8(truncatingIfNeeded: value.bitPattern), UInt8(value.bitPattern >> 8)] }

  /// The scales of some rows.
  private static func scales(_ weight: Weight, _ rows: Range<Int>) -> [Float16] {
    guard case .grid(_, let group) = weight.format else { return [] }
    let groups = Weight.groups(columns: weight.columns, group: group)
    return rows.flatMap { row in (0..<groups).map { weight.scale(row: row, group: $0) } }
  }
}
