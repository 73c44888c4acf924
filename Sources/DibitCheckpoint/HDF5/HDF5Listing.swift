#if HDF5
  internal import CHDF5
  internal import DibitTensor

  /// One dataset, checked.
  struct HDF5Dataset: Equatable, Sendable {
    let path: String
    let dtype: DType
    let shape: [Int]
    let storage: String
    let storedBytes: Int
    /// The beginning of its data in the file, or nil when they are in pieces.
    let offset: Int?
    /// Its number in the requests to the child.
    let number: Int
  }

  /// The list of datasets that a child sends. The child may have been taken over by the file it reads, so nothing in it is believed.
  enum HDF5Listing {
    private static let types: [DType] = [.u8, .i8, .u16, .i16, .u32, .i32, .u64, .i64, .f16, .bf16, .f32, .f64]

    /// The records of `bytes`; exactly `count` of them.
    static func parse(_ bytes: [UInt8], count: Int, fileBytes: Int) throws(HDF5Fault) -> [HDF5Dataset] {
      var reader = RecordReader(bytes: bytes)
      var datasets: [HDF5Dataset] = []
      var names: Set<[UInt8]> = []
      while !reader.isAtEnd {
        let dataset = try record(&reader, number: datasets.count, fileBytes: fileBytes)
        guard names.insert(Array(dataset.path.utf8)).inserted else { throw .duplicate(dataset.path) }
        datasets.append(dataset)
      }
      guard datasets.count == count else { throw .garbled(reason: "\(count) datasets expected, \(datasets.count) found") }
      return datasets
    }

    private static func record(_ reader: inout RecordReader, number: Int, fileBytes: Int) throws(HDF5Fault) -> HDF5Dataset {
      let (type, rank) = (Int(try reader.u32()), Int(try reader.u32()))
      let (flags, nameBytes) = (Int(try reader.u32()), Int(try reader.u32()))
      var dimensions: [UInt64] = []
      for _ in 0..<Int(CHDF5_RANK) { dimensions.append(try reader.u64()) }
      let (stored, offset) = (try reader.u64(), try reader.u64())
      let nameInBytes = try reader.take(nameBytes, padding: 8)
      guard type < types.count, rank <= Int(CHDF5_RANK), nameBytes > 0, nameBytes < Int(CHDF5_NAME_BYTES) else {
        throw .garbled(reason: "element type \(type), rank \(rank), name of \(nameBytes) bytes")
      }
      guard let path = String(validating: nameInBytes, as: UTF8.self) else {
        throw .badName(String(decoding: nameInBytes, as: UTF8.self))
      }
      let dtype = types[type]
      let shape = dimensions.prefix(rank).map { Int(clamping: $0) }
      guard let bytes = byteCount(shape, dtype) else { throw .sizeOverflow(dataset: path, shape: shape) }
      let storedBytes = Int(clamping: stored)
      guard storedBytes <= fileBytes else { throw .outside(dataset: path, end: storedBytes, fileBytes: fileBytes) }
      // What deflate can do at most, as in the child.
      guard bytes == 0 || (bytes - 1) / 1100 <= storedBytes + 1024 else {
        throw .inflated(dataset: path, storedBytes: storedBytes, bytes: bytes)
      }
      return HDF5Dataset(
        path: path, dtype: dtype, shape: shape, storage: storage(dtype, flags), storedBytes: storedBytes,
        offset: offset == .max ? nil : Int(clamping: offset), number: number)
    }

    /// The bytes of the elements, or nil when 63 bits do not count them. Zeros among the dimensions hide no overflow.
    private static func byteCount(_ shape: [Int], _ dtype: DType) -> Int? {
      var product = dtype.byteCount
      for dimension in shape where dimension != 0 {
        let (next, overflow) = product.multipliedReportingOverflow(by: dimension)
        if overflow { return nil }
        product = next
      }
      return shape.contains(0) ? 0 : product
    }

    private static func storage(_ dtype: DType, _ flags: Int) -> String {
      let words: [(flag: Int, word: String)] = [
        (Int(CHDF5_BIG_ENDIAN), "big-endian"), (Int(CHDF5_COMPACT), "compact"), (Int(CHDF5_CHUNKED), "chunked"),
        (Int(CHDF5_SHUFFLE), "shuffle"), (Int(CHDF5_GZIP), "gzip"), (Int(CHDF5_CHECKSUM), "fletcher32"),
      ]
      return ([dtype.rawValue] + words.filter { flags & $0.flag != 0 }.map(\.word)).joined(separator: ", ")
    }
  }

  /// Reads little-endian fields of a byte array, each checked against what is left.
  private struct RecordReader {
    let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    mutating func take(_ count: Int, padding: Int) throws(HDF5Fault) -> ArraySlice<UInt8> {
      // `count` came from 32 bits, so the sum cannot overflow.
      let padded = (count + padding - 1) / padding * padding
      guard padded <= bytes.count - position else { throw .garbled(reason: "the list of datasets ends within a record") }
      defer { position += padded }
      return bytes[position..<position + count]
    }

    mutating func u32() throws(HDF5Fault) -> UInt32 { try take(4, padding: 4).reversed().reduce(0) { $0 << 8 | UInt32($1) } }

    mutating func u64() throws(HDF5Fault) -> UInt64 { try take(8, padding: 8).reversed().reduce(0) { $0 << 8 | UInt64($1) } }
  }
#endif
