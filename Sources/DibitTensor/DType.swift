/// The element type of a stored tensor, in the spelling of safetensors.
package enum DType: String, CaseIterable, Sendable {
  case bool = "BOOL"
  case u8 = "U8"
  case i8 = "I8"
  case f8e4m3 = "F8_E4M3"
  case f8e5m2 = "F8_E5M2"
  case i16 = "I16"
  case u16 = "U16"
  case f16 = "F16"
  case bf16 = "BF16"
  case i32 = "I32"
  case u32 = "U32"
  case f32 = "F32"
  case f64 = "F64"
  case i64 = "I64"
  case u64 = "U64"

  /// The size of one element in bytes.
  package var byteCount: Int {
    switch self {
    case .bool, .u8, .i8, .f8e4m3, .f8e5m2: 1
    case .i16, .u16, .f16, .bf16: 2
    case .i32, .u32, .f32: 4
    case .f64, .i64, .u64: 8
    }
  }

  /// True when the elements are floating-point numbers.
  package var isFloat: Bool {
    switch self {
    case .f8e4m3, .f8e5m2, .f16, .bf16, .f32, .f64: true
    default: false
    }
  }
}
