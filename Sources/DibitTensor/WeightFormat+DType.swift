package import DibitQuantization

extension WeightFormat {
  /// The type of a file's elements: bytes where codes are packed.
  package var dtype: DType {
    switch self {
    case .f32: .f32
    case .f16: .f16
    case .bf16: .bf16
    case .grid: .u8
    }
  }

  /// The floats of a file's type, where weights can be such.
  package init?(_ dtype: DType) {
    switch dtype {
    case .f32: self = .f32
    case .f16: self = .f16
    case .bf16: self = .bf16
    default: return nil
    }
  }
}
