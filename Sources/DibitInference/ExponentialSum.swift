/// `eˣ` for `x ≤ 0`, to about one unit in the last place; 0 below -86.
///
/// `x = n ln 2 + r` with `|r| ≤ ln 2 / 2`; the Taylor series of `eʳ` up to `r⁷` is off by less than 6e-9. Nothing in it branches or calls,
/// so that a loop over it becomes vector instructions.
@inline(__always)
func exponential(_ x: Float) -> Float {
  let clamped = max(x, -86)
  // Adding 1.5 · 2²³ rounds to an integer, which is then in the low bits.
  let shifted = clamped * 1.442_695_04 + 12_582_912
  let n = shifted - 12_582_912
  // ln 2 in two parts, the first with few enough bits that its product with n is exact.
  let r = (clamped - n * 0.693_359_375) - n * -2.121_944_4e-4
  var p: Float = 1 / 5040
  p = p * r + 1 / 720
  p = p * r + 1 / 120
  p = p * r + 1 / 24
  p = p * r + 1 / 6
  p = p * r + 0.5
  p = p * r + 1
  p = p * r + 1
  let scaled = Float(bitPattern: p.bitPattern &+ (shifted.bitPattern &<< 23))
  return x < -86 ? 0 : scaled
}

/// `Σ e^((x - largest) · scale)` over at most ``BlockMaxima/size`` logits, none above `largest`.
@inline(__always)
func exponentialSum(_ logits: Span<Float>, largest: Float, scale: Float) -> Double {
  var terms = [256 of Float](repeating: 0)
  for index in logits.indices { terms[index] = exponential((logits[index] - largest) * scale) }
  return pairwiseSum(&terms)
}

/// `Σ e^(a - largest) (a - b - shift)` over at most ``BlockMaxima/size`` logits, no `a` above `largest`.
@inline(__always)
func exponentialSum(_ a: Span<Float>, largest: Float, minus b: Span<Float>, shift: Float) -> Double {
  var terms = [256 of Float](repeating: 0)
  for index in a.indices {
    // Two infinities differ by nothing here, not by NaN.
    let difference = a[index] == b[index] ? 0 : a[index] - b[index]
    terms[index] = exponential(a[index] - largest) * (difference - shift)
  }
  return pairwiseSum(&terms)
}

/// Adds in pairs, so that the rounding of many floats does not pile up; overwrites the terms.
@inline(__always)
private func pairwiseSum(_ terms: inout [256 of Float]) -> Double {
  var half = BlockMaxima.size / 2
  while half >= 8 {
    for index in 0..<half { terms[index] += terms[index + half] }
    half /= 2
  }
  var sum: Float = 0
  for index in 0..<8 { sum += terms[index] }
  return Double(sum)
}
