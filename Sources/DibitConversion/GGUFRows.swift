internal import DibitCheckpoint
internal import DibitKernels
internal import DibitQuantization
internal import DibitTensor

/// The storage of a weight in a GGUF file, without any change of value.
///
/// A grid without zero has the values (c - M/2) s for codes c and an odd M. Where a row has one scale, Q2_K and Q4_K hold just that: both make
/// d S q - d m of a code q, with d = s/2, S = 2 and m = M, 3, 7 or 15. With a scale for each group, a value is s/2 times an odd number, from -3 to
/// 3, -7 to 7 or -15 to 15: what Q4_0 and Q5_0 hold in blocks of 32 with a d for each, d (q - 8) and d (q - 16). No smaller type does: those with
/// a minimum (Q4_1) would need 7.5 s as an fp16 number, the K types whole ratios of the scales within 256 weights. A grid with zero has whole
/// multiples of s: what Q8_0 holds in blocks of 32, d q, and up to 4 bits Q4_0 with d = s. Where half a scale is no fp16 number, or the length of a row is no multiple of a
/// block, F32 remains, which holds every value.
struct GGUFRows {
  let type: GGMLType
  private let grid: Grid?

  /// The type of rows that lie on no grid.
  static let floats = GGUFRows(type: .f32, grid: nil)

  private init(type: GGMLType, grid: Grid?) { (self.type, self.grid) = (type, grid) }

  /// The type for a weight, from its grid and scales; nothing else decides it.
  init(_ weight: Weight) {
    grid = weight.format.grid
    type = grid.map { Self.type($0, weight) } ?? (weight.format == .f16 ? .f16 : weight.format == .bf16 ? .bf16 : .f32)
  }

  private static func type(_ grid: Grid, _ weight: Weight) -> GGMLType {
    let (columns, length) = (weight.columns, grid.groupLength(columns: weight.columns))
    let (scales, most) = (scales(weight, grid, 0..<weight.rows), grid.levels.twiceMiddle)
    let fitsBlocks = columns % 32 == 0 && (length % 32 == 0 || length == columns)
    if grid.levels.hasZero { return fitsBlocks && most <= 256 && scales.allSatisfy(\.isFinite) ? most <= 16 ? .q4_0 : .q8_0 : .f32 }
    guard scales.allSatisfy({ $0.isFinite && Float(Float16(Float($0) / 2)) == Float($0) / 2 }) else { return .f32 }
    if length == columns, columns % 256 == 0, most <= 15 { return most <= 3 ? .q2K : .q4K }
    return fitsBlocks && most <= 15 ? most <= 7 ? .q4_0 : .q5_0 : .f32
  }

  /// The stored bytes of rows whose values, `(c - M/2) s`, are `values: [rows, columns]`.
  func encode(_ values: borrowing Matrix, _ weight: Weight, rows: Range<Int>) -> [UInt8] {
    guard let grid else { return [] }
    let scales = Self.scales(weight, grid, rows)
    let (groups, group) = (scales.count / max(rows.count, 1), grid.groupLength(columns: weight.columns))
    let middle = Float(grid.levels.twiceMiddle) / 2
    var bytes: [UInt8] = []
    for row in 0..<rows.count {
      let own = Array(scales[row * groups..<(row + 1) * groups])
      // A scale of zero may have any code.
      let codes = (0..<weight.columns).map { column -> Int in
        let scale = Float(own[column / group])
        return scale == 0 ? Int(middle + 0.5) : Int((values[row, column] / scale + middle).rounded())
      }
      switch type {
      case .q2K: bytes += GGUFQ2K.encode(codes: codes.map { UInt8($0) }, scales: [own[0]]) ?? []
      case .q4K: bytes += Self.q4K(codes.map { UInt8($0) }, minimum: UInt8(grid.levels.twiceMiddle), scale: own[0])
      case .q8_0: bytes += Self.q8_0(codes.map { Int8(truncatingIfNeeded: $0 - Int(middle)) }, scales: own, group: group)
      default:
        let (lowest, hasFifthBits) = type == .q4_0 ? (8, false) : (16, true)
        let (steps, scales) = grid.levels.hasZero ? (1, own) : (2, own.map { $0 / 2 })
        bytes += Self.blocks(
          codes.map { steps * $0 - steps * grid.levels.twiceMiddle / 2 + lowest }, scales: scales, group: group,
          hasFifthBits: hasFifthBits)
      }
    }
    return bytes
  }

  /// Blocks of 256: d and dmin, eight 6-bit factors of each, and codes of four bits, 32 low ones beside 32 high ones.
  private static func q4K(_ codes: [UInt8], minimum m: UInt8, scale: Float16) -> [UInt8] {
    var bytes: [UInt8] = []
    for first in stride(from: 0, to: codes.count, by: 256) {
      for _ in 0..<2 { bytes += half(scale / 2) }
      bytes += [2, 2, 2, 2, m, m, m, m] + [UInt8](repeating: m << 4 | 2, count: 4)
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
      bytes += half(scales[first / group])
      if hasFifthBits {
        let high = (0..<32).reduce(UInt32(0)) { $0 | UInt32(truncatingIfNeeded: codes[first + $1] >> 4) << UInt32($1) }
        for shift in [0, 8, 16, 24] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: high >> shift)) }
      }
      for element in first..<first + 16 { bytes.append(UInt8(codes[element] & 15 | (codes[element + 16] & 15) << 4)) }
    }
    return bytes
  }

  /// Blocks of 32: d and bytes.
  private static func q8_0(_ codes: [Int8], scales: [Float16], group: Int) -> [UInt8] {
    stride(from: 0, to: codes.count, by: 32).flatMap { first in
      half(scales[first / group]) + codes[first..<first + 32].map { UInt8(bitPattern: $0) }
    }
  }

  private static func half(_ value: Float16) -> [UInt8] { [UInt8(truncatingIfNeeded: value.bitPattern), UInt8(value.bitPattern >> 8)] }

  /// The scales of some rows.
  private static func scales(_ weight: Weight, _ grid: Grid, _ rows: Range<Int>) -> [Float16] {
    let groups = grid.groups(columns: weight.columns)
    return rows.flatMap { row in (0..<groups).map { weight.scale(row: row, group: $0) } }
  }
}
