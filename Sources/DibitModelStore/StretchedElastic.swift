package import DibitQuantization
package import DibitTensor

/// The weights that a checkpoint of ParetoQ means (Liu et al., 2025, "stretched elastic quantisation" at 2 bits).
///
/// Such a checkpoint stores float weights `W: [m, k]` and one clipping value a for each row beside them, `X.weight_clip_val: [m, 1]`.
/// Its model computes with `a (round(2 clamp(W / a, -0.99, 0.99) - 1/2) + 1/2) / 2`: our 2-bit grid with s = a / 2, so that nothing
/// has to be fitted. As its code does, every step is rounded to the common type of weight and clipping value, and ties go to even.
package struct StretchedElastic: Sendable {
  /// The scale of each row as a file will hold it: a / 2 rounded to F16.
  package let scales: [Float]
  /// The rows whose scale is no F16 number, so that their weights differ from the checkpoint's by that rounding.
  package let roundedScales: Int
  private let clips: [Float]
  private let type: DType

  /// The grid of such a checkpoint.
  package static let levels = GridLevels.two
  /// The suffix that is appended to a weight's name to get that of its clipping values.
  package static let suffix = "_clip_val"
  /// Clipping values that are not above this are replaced by it.
  private static let least: Float = 0.00001

  /// The rule for rows with these clipping values, of weights and clipping values of these types.
  package init(clips: [Float], weightType: DType, clipType: DType) {
    let type: DType = weightType == clipType && [.f16, .bf16].contains(weightType) ? weightType : .f32
    let least = Self.rounded(Self.least, type)
    self.type = type
    self.clips = clips.map { $0 > least ? $0 : least }
    scales = self.clips.map { Float(min(Float16($0 / 2), Float16.greatestFiniteMagnitude)) }
    roundedScales = zip(self.clips, scales).count { $0 / 2 != $1 }
  }

  /// Replaces row `row` by its weights on the grid of ``scales``; values that are not finite stay.
  ///
  /// - Returns: the sum of the squares by which these differ from the checkpoint's own weights: zero unless the scale was rounded.
  package func apply(to values: inout MutableSpan<Float>, _ range: Range<Int>, row: Int) -> Double {
    let (clip, scale) = (clips[row], scales[row])
    let difference = Double(clip) / 2 - Double(scale)
    var lost = 0.0
    for index in range where values[index].isFinite {
      let ratio = min(max(Self.rounded(values[index] / clip, type), -0.99), 0.99)
      let level = Self.rounded(2 * ratio - 0.5, type).rounded(.toNearestOrEven) + 0.5
      values[index] = level * scale
      let error = Double(level) * difference
      lost += error * error
    }
    return lost
  }

  private static func rounded(_ value: Float, _ type: DType) -> Float {
    switch type {
    case .f16: Float(Float16(value))
    case .bf16: Float(BFloat16(value))
    default: value
    }
  }
}
