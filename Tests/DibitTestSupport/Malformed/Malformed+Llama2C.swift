extension MalformedFile {
  /// llama2.c files whose header does not fit their size.
  static var llama2c: [MalformedFile] {
    func legacy(_ description: String, _ header: [Int32], floats: Int, says: String) -> MalformedFile {
      var builder = ByteBuilder()
      for number in header { builder.append(number) }
      builder.append([UInt8](repeating: 0, count: floats * 4))
      return MalformedFile("llama2.c: " + description, [(name: "model.bin", bytes: builder.bytes)], says: says)
    }
    func v1(_ description: String, _ fields: [Int32], version: Int32 = 1, size: Int = 4096, says: String) -> MalformedFile {
      var builder = ByteBuilder()
      builder.append(UInt32(0x616B_3432))
      builder.append(version)
      for number in fields { builder.append(number) }
      builder.append([UInt8](repeating: 0, count: max(0, size - builder.bytes.count)))
      return MalformedFile("llama2.c v1: " + description, [(name: "model.bin", bytes: builder.bytes)], says: says)
    }
    return [
      legacy("a size that no version has", [4, 8, 1, 2, 1, 8, 8], floats: 10, says: "model.bin"),
      legacy("dimensions whose product wraps", [.max, .max, .max, 1, 1, .max, .max], floats: 10, says: "model.bin"),
      legacy("no heads", [4, 8, 1, 0, 0, 8, 8], floats: 300, says: "model.bin"),
      v1("no layers", [4, 8, 0, 2, 1, 8, 8, 0], says: "model.bin"),
      v1("heads that do not divide", [4, 8, 1, 3, 1, 8, 8, 0], says: "model.bin"),
      v1("negative width", [-4, 8, 1, 2, 1, 8, 8, 0], says: "model.bin"),
      v1("a width of 2^31 - 1", [.max, .max, .max, 1, 1, .max, .max, 0], says: "model.bin"),
      v1("a version of the future", [4, 8, 1, 2, 1, 8, 8, 0], version: 9, says: "9"),
      v1("cut in the header", [4], size: 12, says: "model.bin"),
      v1("cut in the data", [64, 128, 2, 2, 1, 64, 64, 1], says: "model.bin"),
    ]
  }
}
