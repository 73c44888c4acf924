/// Stores rows of the balanced two-bit grid as Q2_K blocks without any change of value.
///
/// Code c of scale s is (c - 1.5) s. A Q2_K block makes d S q - dmin M of code q, with 4-bit S and M for each 16 elements. With
/// d = dmin, S = 2 k and M = 3 k that is d k (2 q - 3), the grid with s = 2 d k. All products have at most 17 significant bits, so that no
/// float operation rounds. k may be 0 to 5: groups of 16 k elements may have scales of their own where these are in such ratios within
/// each 256.
package enum GGUFQ2K {
  /// Elements of a block.
  package static let blockSize = 256

  /// One row of codes 0 to 3 with one fp16 scale per `scales.count` equal groups, as Q2_K blocks.
  ///
  /// - Returns: nil when the row cannot be stored exactly: its length is no multiple of 256, a group no multiple of 16, a scale is not finite,
  ///   or the scales within a block are not 2 d k for one fp16 d and whole k from 0 to 5. One scale alone fails only where half of it is no
  ///   fp16 number: odd multiples of 2^-24 below 2^-13. Values are the same bit for bit, except that zeros of a scale 0 lose their sign.
  package static func encode(codes: [UInt8], scales: [Float16]) -> [UInt8]? {
    guard !scales.isEmpty, codes.count > 0, codes.count % blockSize == 0, codes.count % scales.count == 0 else { return nil }
    let group = codes.count / scales.count
    guard group % 16 == 0, codes.allSatisfy({ $0 <= 3 }), scales.allSatisfy({ $0.isFinite }) else { return nil }
    var result: [UInt8] = []
    result.reserveCapacity(codes.count / blockSize * GGMLType.q2K.blockBytes)
    for first in stride(from: 0, to: codes.count, by: blockSize) {
      let sixteens = (0..<16).map { scales[(first + 16 * $0) / group] }
      guard let (d, multiples) = factors(sixteens) else { return nil }
      for multiple in multiples { result.append(UInt8(2 * multiple) | UInt8(3 * multiple) << 4) }
      for half in 0..<2 {
        for byte in 0..<32 {
          let element = first + 128 * half + byte
          result.append(codes[element] | codes[element + 32] << 2 | codes[element + 64] << 4 | codes[element + 96] << 6)
        }
      }
      for _ in 0..<2 { result += [UInt8(truncatingIfNeeded: d.bitPattern), UInt8(d.bitPattern >> 8)] }
    }
    return result
  }

  /// An fp16 d and whole k from 0 to 5 with scale = 2 d k; nil when there are none.
  private static func factors(_ scales: [Float16]) -> (d: Float16, multiples: [Int])? {
    guard let first = scales.first(where: { $0 != 0 }) else { return (0, scales.map { _ in 1 }) }
    for divisor in 1...5 {
      let d = first / Float16(2 * divisor)
      let found = scales.compactMap { scale in (0...5).first { Float(d) * Float(2 * $0) == Float(scale) } }
      if found.count == scales.count { return (d, found) }
    }
    return nil
  }
}
