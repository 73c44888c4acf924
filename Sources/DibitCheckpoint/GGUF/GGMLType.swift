/// The element types of GGUF files, by the numbers that ggml gives them.
package enum GGMLType: UInt32, CaseIterable, Sendable {
  case f32 = 0
  case f16 = 1
  case q4_0 = 2
  case q4_1 = 3
  case q5_0 = 6
  case q5_1 = 7
  case q8_0 = 8
  case q2K = 10
  case q3K = 11
  case q4K = 12
  case q5K = 13
  case q6K = 14
  case q8K = 15
  case iq2XXS = 16
  case iq2XS = 17
  case iq3XXS = 18
  case iq1S = 19
  case iq4NL = 20
  case iq3S = 21
  case iq2S = 22
  case iq4XS = 23
  case i8 = 24
  case i16 = 25
  case i32 = 26
  case i64 = 27
  case f64 = 28
  case iq1M = 29
  case bf16 = 30
  case tq1_0 = 34
  case tq2_0 = 35
  case mxfp4 = 39
  case nvfp4 = 40
  case q1_0 = 41
  case q2_0 = 42
}

extension GGMLType {
  /// The elements of one block; 1 for types without blocks. Rows hold whole blocks.
  package var blockSize: Int { layout.elements }

  /// The bytes of one block.
  package var blockBytes: Int { layout.bytes }

  /// The name as ggml spells it.
  package var name: String { layout.name }

  /// True where elements of this type can be read as floats. Sizes of all types are known, so that files that hold them can be inspected.
  package var isReadable: Bool {
    switch self {
    case .iq2XXS, .iq2XS, .iq3XXS, .iq1S, .iq3S, .iq2S, .iq1M, .nvfp4: false
    default: true
    }
  }

  private var layout: (name: String, elements: Int, bytes: Int) {
    switch self {
    case .f32: ("F32", 1, 4)
    case .f16: ("F16", 1, 2)
    case .q4_0: ("Q4_0", 32, 18)
    case .q4_1: ("Q4_1", 32, 20)
    case .q5_0: ("Q5_0", 32, 22)
    case .q5_1: ("Q5_1", 32, 24)
    case .q8_0: ("Q8_0", 32, 34)
    case .q2K: ("Q2_K", 256, 84)
    case .q3K: ("Q3_K", 256, 110)
    case .q4K: ("Q4_K", 256, 144)
    case .q5K: ("Q5_K", 256, 176)
    case .q6K: ("Q6_K", 256, 210)
    case .q8K: ("Q8_K", 256, 292)
    case .iq2XXS: ("IQ2_XXS", 256, 66)
    case .iq2XS: ("IQ2_XS", 256, 74)
    case .iq3XXS: ("IQ3_XXS", 256, 98)
    case .iq1S: ("IQ1_S", 256, 50)
    case .iq4NL: ("IQ4_NL", 32, 18)
    case .iq3S: ("IQ3_S", 256, 110)
    case .iq2S: ("IQ2_S", 256, 82)
    case .iq4XS: ("IQ4_XS", 256, 136)
    case .i8: ("I8", 1, 1)
    case .i16: ("I16", 1, 2)
    case .i32: ("I32", 1, 4)
    case .i64: ("I64", 1, 8)
    case .f64: ("F64", 1, 8)
    case .iq1M: ("IQ1_M", 256, 56)
    case .bf16: ("BF16", 1, 2)
    case .tq1_0: ("TQ1_0", 256, 54)
    case .tq2_0: ("TQ2_0", 256, 66)
    case .mxfp4: ("MXFP4", 32, 17)
    case .nvfp4: ("NVFP4", 64, 36)
    case .q1_0: ("Q1_0", 128, 18)
    case .q2_0: ("Q2_0", 64, 18)
    }
  }

  /// Returns the former meaning of a number that is no known type, or what tools mean by it.
  static func withdrawn(_ number: UInt32) -> String? {
    switch number {
    case 4: "Q4_2, which ggml gave up in 2023"
    case 5: "Q4_3, which ggml gave up in 2023"
    case 9: "Q8_1, which ggml keeps in memory only"
    case 31, 32, 33: "Q4_0 rearranged for ARM, which ggml gave up in 2024"
    case 36, 37, 38: "IQ4_NL rearranged for ARM, which ggml gave up in 2024"
    default: nil
    }
  }
}

extension GGMLType: CustomStringConvertible {
  /// The name as ggml spells it.
  package var description: String { name }
}
