package import DibitQuantization
package import DibitTensor

/// The value of an F16 bit pattern, from the definition of binary16.
package func halfValue(_ bits: UInt16) -> Float {
  let fraction = Double(bits & 0x3FF)
  let exponent = Int(bits >> 10 & 0x1F)
  let magnitude: Double =
    switch exponent {
    case 0: fraction * 0x1p-24
    case 31: fraction == 0 ? .infinity : .nan
    default: (1024 + fraction) * Double(sign: .plus, exponent: exponent - 25, significand: 1)
    }
  return Float(bits & 0x8000 == 0 ? magnitude : -magnitude)
}

/// Every finite F16 number that is not negative, in order: index and bit pattern are the same.
package let finiteHalves: [Double] = (0..<0x7C00).map { Double(halfValue(UInt16($0))) }

/// The F16 bit pattern nearest to `x >= 0`, ties to even; beyond the largest finite number, that number.
package func nearestHalf(_ x: Double) -> UInt16 {
  var (low, high) = (0, finiteHalves.count - 1)
  if x >= finiteHalves[high] { return UInt16(high) }
  while high - low > 1 {
    let middle = (low + high) / 2
    if finiteHalves[middle] <= x { low = middle } else { high = middle }
  }
  let (below, above) = (x - finiteHalves[low], finiteHalves[high] - x)
  return UInt16(below < above || (below == above && low % 2 == 0) ? low : high)
}

/// Packed codes of `rows` rows and their scales, taken apart as the format's documentation says: a panel is sixteen rows in blocks of 64
/// bytes, byte `4 r + j` of a block belongs to row `r`, its bits `b f ..< b (f + 1)` to input `4 f + j` of the block, and an element is
/// `(code - (2^b - 1) / 2) · scale`, with 8 bits `(code - 128) · scale`. Codes of 3 bits are two blocks of their lower two and one of the
/// third ones: that of field `f` of the first or second of them, `h = 0, 1`, is bit `(2 f + 2) mod 8 + h` of its byte. On a trellis two blocks
/// hold 64 bits of each row, and an element is the level of six of them, its own two and the four below, those of the lowest being the uppermost.
package func gridValues(codes: [UInt8], scales: [UInt8], rows: Int, columns: Int, grid: Grid) -> [Float] {
  let (bits, group) = (grid.levels.bits, grid.groupLength(columns: columns))
  let inputsPerBlock = 32 / bits
  let isTrellis = grid.levels.isTrellis
  let blocks = bits == 3 ? (columns + 31) / 32 * 3 : isTrellis ? (columns + 31) / 32 * 2 : (columns + 15) / 16 * 16 / inputsPerBlock
  let groups = (columns + group - 1) / group
  let middle = grid.levels.isFullRange || bits == 8 ? Float(1 << (bits - 1)) : Float((1 << bits) - 1) / 2
  var out: [Float] = []
  out.reserveCapacity(rows * columns)
  for row in 0..<rows {
    for column in 0..<columns {
      func field(_ block: Int, _ number: Int, bits: Int) -> Int {
        Int(codes[(row / 16 * blocks + block) * 64 + row % 16 * 4 + column % 4] >> (number * bits)) & ((1 << bits) - 1)
      }
      let code: Int
      if isTrellis {
        let bytes = (0..<8).map { codes[(row / 16 * blocks + column / 32 * 2 + $0 / 4) * 64 + row % 16 * 4 + $0 % 4] }
        let word = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let at = column % 32 / 16 * 32 + column % 4 * 8 + column % 16 / 4 * 2
        code = (0..<6).reduce(0) { $0 | Int(word >> UInt64((at - 4 + $1 + 64) % 64) & 1) << $1 }
      } else if bits == 3 {
        let (first, f) = (column / 32 * 3, column % 16 / 4)
        let third = field(first + 2, (f * 2 + 2) % 8 + column % 32 / 16, bits: 1)
        code = field(first + column % 32 / 16, f, bits: 2) + 4 * third
      } else {
        code = field(column / inputsPerBlock, column % inputsPerBlock / 4, bits: bits)
      }
      let at = 2 * ((row / 16 * groups + column / group) * 16 + row % 16)
      let scale = halfValue(UInt16(scales[at]) | UInt16(scales[at + 1]) << 8)
      out.append((isTrellis ? trellisLevels[code] : Float(code) - middle) * scale)
    }
  }
  return out
}

/// The levels of a trellis by six bits of a row, of three codes `a`, `b` and `c` from the lowest bits on: that of `a` exclusive or `c` in the set of
/// `b`, as the format's documentation lists them.
package let trellisLevels: [Float] = {
  let sets: [[Float]] = [[-7, -2, 4, 1], [0, 7, -3, 2], [-2, 3, 0, -5], [1, 4, -4, -1]]
  return (0..<64).map { sets[$0 / 4 % 4][$0 % 4 ^ $0 / 16] }
}()

/// The grids whose codes have levels by themselves.
package let plainLevels = GridLevels.all.filter { !$0.isTrellis }

/// A weight with random contents in any format, and what it means.
package func randomWeight(rows: Int, columns: Int, format: WeightFormat, seed: UInt64) -> (weight: Weight, values: [Float]) {
  var rng = SplitMix64(seed: seed)
  switch format {
  case .f32:
    let values = uniforms(rows * columns, seed: seed)
    return (Weight(rows: rows, columns: columns, values: values), values)
  case .f16, .bf16:
    var (bytes, values): ([UInt8], [Float]) = ([], [])
    for _ in 0..<rows * columns {
      let x = rng.uniform(bound: 1)
      let bits = format == .bf16 ? UInt16(x.bitPattern >> 16) : nearestHalf(Double(abs(x))) | (x < 0 ? 0x8000 : 0)
      bytes += [UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8)]
      values.append(format == .bf16 ? Float(bitPattern: UInt32(bits) << 16) : halfValue(bits))
    }
    return (Weight(rows: rows, columns: columns, format: format, elements: Bytes(SharedBytes(bytes))), values)
  case .grid(let grid):
    let codes = (0..<grid.codeByteCount(rows: rows, columns: columns)).map { _ in UInt8(truncatingIfNeeded: rng.next()) }
    let scales = (0..<grid.scaleByteCount(rows: rows, columns: columns) / 2).flatMap { _ in
      let half = nearestHalf(Double(rng.uniform() + 0.01)) | (grid.levels.isFullRange && rng.below(2) == 0 ? 0x8000 : 0)
      return [UInt8(truncatingIfNeeded: half), UInt8(truncatingIfNeeded: half >> 8)]
    }
    return (
      Weight(
        rows: rows, columns: columns, format: format, elements: Bytes(SharedBytes(codes)), scales: Bytes(SharedBytes(scales))),
      gridValues(codes: codes, scales: scales, rows: rows, columns: columns, grid: grid)
    )
  }
}
