#if HDF5
  @testable import DibitFiles
  import DibitTensor
  import Glibc
  import Synchronization
  import Testing

  @testable import DibitCheckpoint

  /// Damaged files: whatever libhdf5 makes of them, this process gets values or an error, soon.
  @Suite struct HDF5FuzzTests {
    /// Libraries take 10 ms to load. Children inherit those of their parent, so this process, which never calls it, loads it once.
    private static let loaded: Bool = unsafe dlopen("libhdf5_serial.so.103", RTLD_LAZY | RTLD_LOCAL) != nil

    /// Opens a file with these bytes and reads all of it; the fault, or nil.
    private static func outcome(of bytes: [UInt8], at path: String) throws -> HDF5Fault? {
      _ = SystemCall.unlink(path)
      try createFile(path).write(bytes.span)
      do throws(CheckpointError) {
        let file = try HDF5Container(path: path, limits: HDF5Limits(window: 1 << 20, memory: 256 << 20, openSeconds: 5, requestSeconds: 5))
        for (index, tensor) in file.tensors.enumerated() {
          let count = tensor.shape.reduce(1, *)
          guard count <= 1 << 20 else { continue }
          var values = [Float](repeating: 0, count: count)
          var target = values.mutableSpan
          try file.readRows(index, rows: 0..<(tensor.shape.count >= 2 ? tensor.shape[0] : 1), into: &target)
        }
        return nil
      } catch {
        guard case .hdf5(file: path, let fault) = error else { throw error }
        return fault
      }
    }

    /// Runs `body` for each number from 0 on several threads and counts the kinds of faults.
    private static func run(_ count: Int, _ body: @Sendable @escaping (Int) throws -> HDF5Fault?) async throws -> [String: Int] {
      _ = loaded
      return try await withThrowingTaskGroup(of: [String: Int].self) { group in
        for task in 0..<3 {
          group.addTask {
            var kinds: [String: Int] = [:]
            for index in stride(from: task, to: count, by: 3) {
              let kind = try body(index).map { Mirror(reflecting: $0).children.first?.label ?? "\($0)" } ?? "opens"
              kinds[kind, default: 0] += 1
            }
            return kinds
          }
        }
        var sum: [String: Int] = [:]
        for try await kinds in group { sum.merge(kinds, uniquingKeysWith: +) }
        return sum
      }
    }

    @Test func filesCutShort() async throws {
      let scratch = Scratch()
      let whole = try readFile(hdf5Fixture("packed"), limit: 1 << 20)
      // Every length near the start, where the headers are, and steps of a prime later.
      let lengths = Array(1..<128) + Array(stride(from: 128, to: whole.count, by: 97)) + [whole.count - 1]
      let kinds = try await Self.run(lengths.count) { index in
        let fault = try Self.outcome(of: Array(whole.prefix(lengths[index])), at: scratch("\(index % 3)"))
        // The last bytes of the file may be ones that nothing uses, but libhdf5 knows how long the file was.
        #expect(fault != nil, "\(lengths[index]) bytes are enough")
        return fault
      }
      #expect(kinds.values.reduce(0, +) == lengths.count)
    }

    @Test func bytesChanged() async throws {
      let scratch = Scratch()
      let files = try ["packed", "plain", "names", "big-endian"].map { try readFile(hdf5Fixture($0), limit: 1 << 20) }
      let clock = ContinuousClock()
      let start = clock.now
      let kinds = try await Self.run(2100) { index in
        var random = SplitMix64(seed: UInt64(index))
        var bytes = files[index % files.count]
        // Few changes leave most of the structure alone; most headers are in the first few kilobytes.
        for _ in 0..<(1 << Int.random(in: 0..<5, using: &random)) {
          let bound = Bool.random(using: &random) ? min(2048, bytes.count) : bytes.count
          let index = Int.random(in: 0..<bound, using: &random)
          switch Int.random(in: 0..<4, using: &random) {
          case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
          case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
          case 2: bytes[index] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
          default:
            let from = Int.random(in: 0..<bytes.count, using: &random)
            for offset in 0..<min(8, bytes.count - max(index, from)) { bytes[index + offset] = bytes[from + offset] }
          }
        }
        return try Self.outcome(of: bytes, at: scratch("\(index % 3)"))
      }
      print("2100 damaged files in \(clock.now - start): \(kinds.sorted { $0.value > $1.value }.map { "\($0.key): \($0.value)" })")
      #expect(kinds.values.reduce(0, +) == 2100)
      #expect(kinds.count > 4, "damage is found in several ways")
    }
  }
#endif
