#if HDF5
  import DibitFailure
  @testable import DibitFiles
  import DibitTensor
  import Testing

  @testable import DibitCheckpoint

  /// What is wrong with the file, or nil when it opens.
  func hdf5Fault(_ path: String, limits: HDF5Limits = HDF5Limits()) -> HDF5Fault? {
    do throws(CheckpointError) {
      _ = try HDF5Container(path: path, limits: limits)
      return nil
    } catch {
      guard case .hdf5(file: path, let fault) = error else {
        Issue.record("\(error)")
        return nil
      }
      return fault
    }
  }

  @Suite struct HDF5HostileTests {
    @Test(arguments: [
      ("external-link", HDF5Fault.externalLink("there", target: "plain.h5")),
      ("user-link", .userDefinedLink("there", type: 65)),
      ("external-storage", .externalStorage(dataset: "weights", target: "/etc/passwd")),
      ("virtual", .virtualDataset("weights")),
      ("shape-bomb", .unallocated(dataset: "weights", expected: 1 << 42, found: 0)),
      ("unwritten", .unallocated(dataset: "weights", expected: 1 << 22, found: 0)),
      ("hole", .unallocated(dataset: "weights", expected: 4, found: 1)),
      ("inflated", .inflated(dataset: "weights", storedBytes: 20, bytes: 1 << 24)),
      ("large-chunk", .chunk(dataset: "weights", limit: 128 << 20, found: 256 << 20)),
      ("compound", .elementType(dataset: "weights", found: "a compound")),
      ("sequence", .elementType(dataset: "weights", found: "a sequence of variable length")),
      ("reference", .elementType(dataset: "weights", found: "a reference")),
      ("boolean", .elementType(dataset: "weights", found: "an enumeration")),
      ("strings", .elementType(dataset: "weights", found: "a string")),
      ("opaque", .elementType(dataset: "weights", found: "opaque bytes")),
      ("nothing", .shape(dataset: "weights", rank: 0)),
      ("rank", .shape(dataset: "weights", rank: 9)),
      ("scale-offset", .filter(dataset: "weights", number: 6, name: "scaleoffset")),
      ("lzf", .filter(dataset: "weights", number: 32000, name: "lzf")),
      ("long-name", .longName(String(repeating: "n", count: 511), limit: 511)),
      ("bad-name", .badName("a\u{FFFD}b")),
    ]) func refused(_ name: String, _ expected: HDF5Fault) {
      #expect(hdf5Fault(hdf5Fixture(name)) == expected)
    }

    @Test func groupsWithoutAnEnd() {
      for name in ["deep", "cycle"] {
        guard case .tooDeep(let path, limit: 16) = hdf5Fault(hdf5Fixture(name)) else {
          Issue.record("\(name) opens")
          continue
        }
        #expect(path.utf8.count { $0 == UInt8(ascii: "/") } == 15)
      }
    }

    @Test func linksThatLeadNowhereOrOutside() {
      guard case .unreadable(object: "link", _) = hdf5Fault(hdf5Fixture("dangling")) else {
        Issue.record("a dangling link is followed")
        return
      }
      guard case .unreadable(object: "first", _) = hdf5Fault(hdf5Fixture("soft-to-external")) else {
        Issue.record("a soft link leads out of the file")
        return
      }
    }

    @Test func limitsOfTheListing() {
      #expect(hdf5Fault(hdf5Fixture("plain"), limits: HDF5Limits(links: 5)) == .tooManyLinks(limit: 5))
      #expect(hdf5Fault(hdf5Fixture("plain"), limits: HDF5Limits(window: 4096 / 8)) == .longListing(limit: 512))
    }

    @Test func textsThatAreNoHDF5() throws {
      let scratch = Scratch()
      for bytes in [Array("hello".utf8), [UInt8](repeating: 0, count: 4096), [0x89] + Array("HDF\r\n\u{1A}\n".utf8)] {
        guard case .notOpened = hdf5Fault(try scratch.write(bytes, to: "x\(bytes.count)")) else {
          Issue.record("\(bytes.count) bytes open")
          continue
        }
      }
      #expect(throws: CheckpointError.file(.emptyFile(path: scratch("empty")))) {
        try HDF5Container(path: scratch.write([UInt8](), to: "empty"))
      }
    }

    @Test func messagesSayWhatToDo() {
      let error = CheckpointError.hdf5(file: "a.h5", .externalLink("w", target: "/etc/passwd"))
      #expect(
        error.description == "'a.h5': 'w' is a link to another file, '/etc/passwd', which is not followed; copy the data into one file")
      #expect(error.kind == .badData)
      #expect(CheckpointError.hdf5(file: "a", .noLibrary(reason: "x")).kind == .inputOutput)
      #expect(
        HDF5Fault.crashed(signal: 11, doing: "while opening it").description
          == "libhdf5 crashed while opening it (signal 11); the file is damaged or made to do harm")
    }
  }

  /// Lists as a child that was taken over could send them.
  @Suite struct HDF5ListingTests {
    private func record(
      type: UInt32 = 10, rank: UInt32 = 1, flags: UInt32 = 0, name: [UInt8] = Array("w".utf8), nameBytes: UInt32? = nil,
      dimensions: [UInt64] = [2], stored: UInt64 = 8, offset: UInt64 = 16
    ) -> [UInt8] {
      var bytes: [UInt8] = []
      for word in [type, rank, flags, nameBytes ?? UInt32(name.count)] { bytes += littleEndian(UInt64(word)).prefix(4) }
      for index in 0..<8 { bytes += littleEndian(index < dimensions.count ? dimensions[index] : 0) }
      bytes += littleEndian(stored) + littleEndian(offset) + name
      return bytes + [UInt8](repeating: 0, count: (8 - name.count % 8) % 8)
    }

    private func fault(_ bytes: [UInt8], count: Int = 1) -> HDF5Fault? {
      do throws(HDF5Fault) {
        _ = try HDF5Listing.parse(bytes, count: count, fileBytes: 100)
        return nil
      } catch { return error }
    }

    @Test func liesAreFound() {
      #expect(fault(record()) == nil)
      #expect(fault(record(type: 12)) == .garbled(reason: "element type 12, rank 1, name of 1 bytes"))
      #expect(fault(record(rank: 9)) == .garbled(reason: "element type 10, rank 9, name of 1 bytes"))
      #expect(fault(record(name: [])) == .garbled(reason: "element type 10, rank 1, name of 0 bytes"))
      #expect(fault(record(nameBytes: 4000)) == .garbled(reason: "the list of datasets ends within a record"))
      #expect(fault(record(nameBytes: .max)) == .garbled(reason: "the list of datasets ends within a record"))
      #expect(fault(Array(record().dropLast())) == .garbled(reason: "the list of datasets ends within a record"))
      #expect(fault(record(name: [0xFF])) == .badName("\u{FFFD}"))
      #expect(fault(record() + record(), count: 2) == .duplicate("w"))
      #expect(fault(record(), count: 2) == .garbled(reason: "2 datasets expected, 1 found"))
      #expect(fault(record(stored: 101)) == .outside(dataset: "w", end: 101, fileBytes: 100))
      #expect(fault(record(dimensions: [1 << 40])) == .inflated(dataset: "w", storedBytes: 8, bytes: 1 << 42))
      #expect(
        fault(record(rank: 2, dimensions: [1 << 40, 1 << 40])) == .sizeOverflow(dataset: "w", shape: [1 << 40, 1 << 40]))
      #expect(fault(record(rank: 2, dimensions: [.max, 0])) == .sizeOverflow(dataset: "w", shape: [.max, 0]))
    }
  }
#endif
