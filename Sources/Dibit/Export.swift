internal import DibitConversion
internal import DibitTensor

/// Models and adapters in the forms of other tools. See ``Model/export(to:options:)`` and ``Adapter/export(to:as:baseName:overwrites:)``.
public enum Export {
  /// The forms of a model.
  public enum Format: String, Equatable, Sendable, CaseIterable {
    /// A checkpoint directory of floats.
    case safetensors
    /// One file for llama.cpp, in which weights of 2, 4 and 8 bits keep every value.
    case gguf
  }

  /// The forms of an adapter.
  public enum AdapterFormat: String, Equatable, Sendable, CaseIterable {
    /// PEFT's files with a manifest: an adapter of Dibit, too.
    case peft
    /// The same as a package for apps of the library FoundationModels.
    case fmadapter
    /// mlx-lm's files.
    case mlx
    /// One file for llama.cpp.
    case gguf

    var engineFormat: DibitConversion.AdapterFormat {
      switch self {
      case .peft: .peft
      case .fmadapter: .fmadapter
      case .mlx: .mlx
      case .gguf: .gguf
      }
    }
  }

  /// The types of floats.
  public enum Floats: String, Equatable, Sendable, CaseIterable {
    /// Four bytes: every weight of a grid as it is.
    case float32
    /// Two bytes, of which eleven bits are the number's.
    case float16
    /// Two bytes, of which eight bits are the number's.
    case bfloat16

    var type: DType {
      switch self {
      case .float32: .f32
      case .float16: .f16
      case .bfloat16: .bf16
      }
    }
  }

  /// Options for writing a model in another tool's form.
  ///
  /// ```swift
  /// var options = Export.Options(format: .safetensors)
  /// options.adapter = adapter
  /// ```
  public struct Options: Sendable {
    /// The form.
    public var format: Format
    /// The type of the floats of ``Format/safetensors``.
    public var floats = Floats.float32
    /// An adapter that is merged into floats; nil for none.
    public var adapter: Adapter?
    /// Replaces what lies at the output, where that is an export too.
    public var overwrites = false

    /// Floats of four bytes, or a GGUF file.
    ///
    /// ```swift
    /// let options = Export.Options(format: .gguf)
    /// ```
    ///
    /// - Parameters:
    ///   - format: The form.
    public init(format: Format = .safetensors) { self.format = format }
  }
}
