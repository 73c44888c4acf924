internal import DibitTensor
internal import RealModule

/// `count` floats in [-bound, bound), the same for the same seed everywhere.
package func uniforms(_ count: Int, seed: UInt64, bound: Float = 1) -> [Float] {
  var rng = SplitMix64(seed: seed)
  return (0..<count).map { _ in rng.uniform(bound: bound) }
}

/// `count` standard normal floats (Box and Muller, 1958).
///
/// `SplitMix64.normal()` adds uniforms and has thinner tails, which moves a quantiser's error by tenths of a percent.
package func gaussians(_ count: Int, seed: UInt64) -> [Float] {
  var rng = SplitMix64(seed: seed)
  var out: [Float] = []
  out.reserveCapacity(count + 1)
  while out.count < count {
    let radius = Double.sqrt(-2 * Double.log(Double((rng.next() >> 11) + 1) * 0x1p-53))
    let angle = 2 * Double.pi * Double(rng.next() >> 11) * 0x1p-53
    out.append(Float(radius * Double.cos(angle)))
    out.append(Float(radius * Double.sin(angle)))
  }
  out.removeLast(out.count - count)
  return out
}

/// The same numbers, exactly.
package func doubles(_ x: [Float]) -> [Double] { x.map(Double.init) }

/// The magnitudes, for the tolerance of a sum of products.
package func magnitudes(_ x: [Float]) -> [Double] { x.map { abs(Double($0)) } }
