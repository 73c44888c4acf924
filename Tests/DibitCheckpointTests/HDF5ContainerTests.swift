#if HDF5
  import DibitFailure
  @testable import DibitFiles
  import DibitTensor
  import Testing

  @testable import DibitCheckpoint

  /// The path of a committed file; see `.ci/make-hdf5-fixtures.py`.
  func hdf5Fixture(_ name: String) -> String {
    String(#filePath.dropLast("DibitCheckpointTests/HDF5ContainerTests.swift".count)) + "Fixtures/hdf5/\(name).h5"
  }

  /// What the generator puts into a dataset of this type.
  private func expected(_ count: Int, _ dtype: DType) -> [Float] {
    (0..<count).map { dtype.isFloat ? Float($0) / 4 - 2 : dtype.rawValue.hasPrefix("U") ? Float($0) : Float($0) - 3 }
  }

  extension HDF5Container {
    /// Rows of the tensor called `name` as floats.
    func rows(_ name: String, _ rows: Range<Int>? = nil) throws -> [Float] {
      let index = try #require(tensors.firstIndex { $0.name == name })
      let shape = tensors[index].shape
      let all = shape.count >= 2 ? shape[0] : 1
      let columns = (shape.count >= 2 ? shape.dropFirst() : shape[...]).reduce(1, *)
      var values = [Float](repeating: .nan, count: (rows ?? 0..<all).count * columns)
      var target = values.mutableSpan
      try readRows(index, rows: rows ?? 0..<all, into: &target)
      return values
    }
  }

  @Suite struct HDF5ContainerTests {
    @Test func datasetsOfEveryKind() throws {
      let file = try HDF5Container(path: hdf5Fixture("plain"))
      let found = Set(file.tensors.map { "\($0.name) \($0.storage) \($0.shape)" })
      #expect(
        found == [
          "a/b/matrix F32 [6, 4]", "a/vector F32 [5]", "soft F32 [5]", "cube F32 [2, 3, 4]", "scalar F64 []", "empty F32 [0, 3]",
          "compact F32, compact [2, 2]", "types/half F16 [3, 2]", "types/double F64 [3, 2]", "types/brain BF16 [3, 2]",
          "types/keras brain BF16 [3, 2]", "types/i8 I8 [3, 2]", "types/i16 I16 [3, 2]", "types/i32 I32 [3, 2]", "types/i64 I64 [3, 2]",
          "types/u8 U8 [3, 2]", "types/u16 U16 [3, 2]", "types/u32 U32 [3, 2]", "types/u64 U64 [3, 2]",
        ])
      for tensor in file.tensors where tensor.name != "scalar" {
        #expect(try file.rows(tensor.name) == expected(tensor.shape.reduce(1, *), tensor.dtype), "\(tensor.name)")
      }
      #expect(try file.rows("scalar") == [1.5])
      #expect(try file.rows("a/b/matrix", 2..<5) == Array(expected(24, .f32)[8..<20]))
      #expect(try file.rows("cube", 1..<2) == Array(expected(24, .f32)[12...]))
      #expect(try file.rows("cube", 1..<1) == [])
      #expect(file.plainBytes(0) == nil && file.metadata.isEmpty && file.path == hdf5Fixture("plain"))
    }

    @Test func chunksAndFilters() throws {
      let file = try HDF5Container(path: hdf5Fixture("packed"))
      let found = Set(file.tensors.map { "\($0.name) \($0.storage)" })
      #expect(
        found == [
          "chunked F32, chunked", "gzip F32, chunked, gzip", "shuffle F32, chunked, shuffle, gzip",
          "all F32, chunked, shuffle, gzip, fletcher32", "growing F32, chunked",
        ])
      for tensor in file.tensors {
        #expect(tensor.shape == [37, 11])
        #expect(try file.rows(tensor.name) == expected(37 * 11, .f32))
        #expect(try file.rows(tensor.name, 7..<9) == Array(expected(37 * 11, .f32)[77..<99]))
      }
    }

    @Test func bigEndianNumbersAreConverted() throws {
      let file = try HDF5Container(path: hdf5Fixture("big-endian"))
      #expect(file.tensors.count == 7)
      for tensor in file.tensors {
        #expect(tensor.storage.contains("big-endian"))
        #expect(try file.rows(tensor.name) == expected(15, tensor.dtype), "\(tensor.name)")
      }
    }

    /// Windows so small that rows, and parts of rows, come in several requests.
    @Test(arguments: [16, 40, 4096]) func smallWindows(_ window: Int) throws {
      // The list of datasets has to fit into the window too, so a file with a single one.
      let limits = HDF5Limits(window: max(window, 4096))
      let file = try HDF5Container(path: hdf5Fixture("packed"), limits: limits)
      #expect(try file.rows("all") == expected(37 * 11, .f32))
      for rows in [0..<6, 1..<4] {
        let blocks = HDF5Blocks([6, 4], rows: rows, limit: window / 4).blocks
        #expect(blocks.allSatisfy { $0.elements <= window / 4 } && blocks.reduce(0) { $0 + $1.elements } == rows.count * 4)
      }
    }

    @Test func namesWithDots() throws {
      let file = try HDF5Container(path: hdf5Fixture("names"))
      let names = try HDF5Names.dotted(file.tensors.map(\.name)).sorted()
      #expect(
        names == [
          "model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight", "model.layers.1.self_attn.q_proj.weight", "übermäßig.重み",
        ])
      #expect(throws: HDF5Fault.duplicate("a.b.c")) { try HDF5Names.dotted(["a.b/c", "x", "a/b.c"]) }
    }

    @Test func filesThatAreNotThere() {
      #expect(throws: CheckpointError.file(.notFound(path: "/nowhere.h5"))) { try HDF5Container(path: "/nowhere.h5") }
      #expect(throws: CheckpointError.file(.notAFile(path: "/tmp", found: .directory))) { try HDF5Container(path: "/tmp") }
    }

    /// Several threads read from one child, each its own rows.
    @Test func requestsFromSeveralThreads() async throws {
      let file = try HDF5Container(path: hdf5Fixture("packed"))
      let all = expected(37 * 11, .f32)
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for task in 0..<8 {
          group.addTask {
            for row in 0..<37 where (row + task) % 3 != 0 {
              let name = file.tensors[(row + task) % 5].name
              guard try file.rows(name, row..<row + 1) == Array(all[row * 11..<(row + 1) * 11]) else { return false }
            }
            return true
          }
        }
        for try await same in group { #expect(same) }
      }
    }
  }

  @Suite struct HDF5BlocksTests {
    typealias Block = HDF5Blocks.Block

    @Test func blocksFollowTheRows() {
      #expect(HDF5Blocks([], rows: 0..<1, limit: 1).blocks == [Block(start: [], count: [])])
      #expect(HDF5Blocks([5], rows: 0..<1, limit: 2).blocks.map(\.count) == [[2], [2], [1]])
      #expect(
        HDF5Blocks([4, 3], rows: 1..<4, limit: 6).blocks == [Block(start: [1, 0], count: [2, 3]), Block(start: [3, 0], count: [1, 3])])
      #expect(
        HDF5Blocks([2, 2, 3], rows: 1..<2, limit: 2).blocks
          == [
            Block(start: [1, 0, 0], count: [1, 1, 2]), Block(start: [1, 0, 2], count: [1, 1, 1]),
            Block(start: [1, 1, 0], count: [1, 1, 2]),
            Block(start: [1, 1, 2], count: [1, 1, 1]),
          ])
      #expect(HDF5Blocks([0, 3], rows: 0..<0, limit: 2).blocks.isEmpty && HDF5Blocks([3, 0], rows: 0..<3, limit: 2).blocks.isEmpty)
    }
  }
#else
  import Testing

  @testable import DibitCheckpoint

  @Suite struct HDF5ContainerTests {
    @Test func aBuildWithoutHDF5SaysSo() {
      let error = CheckpointError.hdf5(file: "Tests/Fixtures/hdf5/plain.h5", .notBuilt)
      #expect(throws: error) { try HDF5Container(path: "Tests/Fixtures/hdf5/plain.h5") }
      #expect(error.kind == .inputOutput)
    }
  }
#endif
