internal import DibitTensor

/// The functions and classes that a pickle may name. Each stands for data; none is ever called.
///
/// What `torch.save` needs for state dicts is here, and what plain values beside them need. The list is complete: a name that is not
/// on it is refused, whatever it is.
enum PickleGlobal: Equatable, Sendable {
  case orderedDictionary
  case set
  case counter
  /// `_codecs.encode`, by which protocol 2 writes bytes as text.
  case encode
  /// `_rebuild_tensor`, `_v2`, `_v3`.
  case rebuildTensor(version: Int)
  case rebuildParameter(withState: Bool)
  case rebuildFromType
  /// `torch.Tensor` or `Parameter`, as an argument.
  case tensorType
  case size
  case device
  case dtype(DType)
  /// A dtype without a counterpart here: complex, quantised, narrower than a byte.
  case otherDType(String)
  /// A storage of typed elements, or of bytes.
  case storage(DType?)
  case otherStorage(String)
  case numpyScalar
  case numpyDType

  /// The global `name` of `module`, or nil when it is not on the list.
  init?(module: String, name: String) {
    switch (module, name) {
    case ("collections", "OrderedDict"): self = .orderedDictionary
    case ("collections", "Counter"): self = .counter
    case ("__builtin__", "set"), ("builtins", "set"), ("__builtin__", "frozenset"), ("builtins", "frozenset"): self = .set
    case ("_codecs", "encode"): self = .encode
    case ("torch._utils", "_rebuild_tensor"): self = .rebuildTensor(version: 1)
    case ("torch._utils", "_rebuild_tensor_v2"): self = .rebuildTensor(version: 2)
    case ("torch._utils", "_rebuild_tensor_v3"): self = .rebuildTensor(version: 3)
    case ("torch._utils", "_rebuild_parameter"): self = .rebuildParameter(withState: false)
    case ("torch._utils", "_rebuild_parameter_with_state"): self = .rebuildParameter(withState: true)
    case ("torch._tensor", "_rebuild_from_type_v2"): self = .rebuildFromType
    case ("torch", "Tensor"), ("torch.nn.parameter", "Parameter"), ("torch.nn", "Parameter"): self = .tensorType
    case ("torch", "Size"): self = .size
    case ("torch", "device"): self = .device
    case ("torch", "UntypedStorage"), ("torch.storage", "UntypedStorage"), ("torch.storage", "_UntypedStorage"): self = .storage(nil)
    case ("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "scalar"): self = .numpyScalar
    case ("numpy", "dtype"): self = .numpyDType
    case ("torch", _):
      guard let global = Self.dtypes[name] ?? Self.storages[name] else { return nil }
      self = global
    default: return nil
    }
  }

  private static let dtypes: [String: PickleGlobal] = {
    var table: [String: PickleGlobal] = [
      "float64": .dtype(.f64), "double": .dtype(.f64), "float32": .dtype(.f32), "float": .dtype(.f32), "float16": .dtype(.f16),
      "half": .dtype(.f16), "bfloat16": .dtype(.bf16), "float8_e4m3fn": .dtype(.f8e4m3), "float8_e5m2": .dtype(.f8e5m2),
      "int64": .dtype(.i64), "long": .dtype(.i64), "int32": .dtype(.i32), "int": .dtype(.i32), "int16": .dtype(.i16),
      "short": .dtype(.i16), "int8": .dtype(.i8), "uint8": .dtype(.u8), "uint16": .dtype(.u16), "uint32": .dtype(.u32),
      "uint64": .dtype(.u64), "bool": .dtype(.bool),
    ]
    for name in [
      "complex32", "complex64", "complex128", "cfloat", "cdouble", "chalf", "qint8", "quint8", "qint32", "quint4x2", "quint2x4",
      "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2",
    ] {
      table[name] = .otherDType(name)
    }
    return table
  }()

  private static let storages: [String: PickleGlobal] = {
    var table: [String: PickleGlobal] = [
      "DoubleStorage": .storage(.f64), "FloatStorage": .storage(.f32), "HalfStorage": .storage(.f16), "BFloat16Storage": .storage(.bf16),
      "LongStorage": .storage(.i64), "IntStorage": .storage(.i32), "ShortStorage": .storage(.i16), "CharStorage": .storage(.i8),
      "ByteStorage": .storage(.u8), "BoolStorage": .storage(.bool),
    ]
    for name in [
      "ComplexFloatStorage", "ComplexDoubleStorage", "QInt8Storage", "QUInt8Storage", "QInt32Storage", "QUInt4x2Storage",
      "QUInt2x4Storage",
    ] {
      table[name] = .otherStorage(name)
    }
    return table
  }()
}
