import DibitQuantization
import DibitTensor
import Synchronization
import Testing

@Suite struct WeightTests {
  @Test func aCopyKeepsItsElementsWhenTheOriginalIsWritten() {
    var original = Weight(rows: 2, columns: 2, values: [1, 2, 3, 4])
    let copy = original
    original.withMutableValues { $0[0] = 9 }
    #expect(Array(copying: original.values) == [9, 2, 3, 4])
    #expect(Array(copying: copy.values) == [1, 2, 3, 4])
  }

  @Test func aWeightThatNobodySharesIsWrittenInPlace() {
    var weight = Weight(rows: 2, columns: 2, values: [1, 2, 3, 4])
    let before = unsafe weight.elements.pointer
    weight.withMutableValues { $0[3] = 5 }
    #expect(unsafe weight.elements.pointer == before)
    #expect(Array(copying: weight.values) == [1, 2, 3, 5])
  }

  @Test func aSliceOfSharedBytesLeavesItsNeighboursAlone() {
    let owner = SharedBytes([UInt8](repeating: 0, count: 48))
    var weight = Weight(rows: 1, columns: 4, format: .f32, elements: Bytes(owner, range: 16..<32))
    weight.withMutableValues { span in for index in span.indices { span[index] = 1 } }
    #expect(Bytes(owner).array.allSatisfy { $0 == 0 })
    #expect(Array(copying: weight.values) == [1, 1, 1, 1])
  }

  @Test func mappedStorageIsCopiedBeforeItIsWrittenAndGivenBackAfterwards() {
    let released = Released()
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64)
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: 64)
    do {
      // The weight is the only owner: being mapped alone must be reason enough to copy.
      // SAFETY: the memory is freed below, after the last owner has gone.
      var weight = Weight(
        rows: 1, columns: 4, format: .f32,
        elements: Bytes(
          unsafe SharedBytes(adopting: memory, count: 16) { base, count in
            #expect(unsafe base == memory)
            released.count.add(count, ordering: .relaxed)
          }))
      weight.withMutableValues { $0[1] = 2 }
      #expect(Array(copying: weight.values) == [0, 2, 0, 0])
      #expect(unsafe UnsafeRawBufferPointer(start: memory, count: 64).allSatisfy { $0 == 0 })
    }
    #expect(released.count.load(ordering: .relaxed) == 16)
    unsafe memory.deallocate()
  }

  private final class Released: Sendable { let count = Atomic<Int>(0) }

  @Test(arguments: [
    (1, 2, 64, 64, 32), (16, 2, 64, 64, 32), (65, 2, 64, 320, 64), (172, 2, 64, 704, 96), (172, 4, 32, 1408, 192), (172, 4, 172, 1408, 32),
    (17, 4, 32, 256, 32), (172, 8, 64, 2816, 96), (17, 8, 17, 512, 32), (1, 3, 64, 192, 32), (172, 3, 64, 1152, 96), (40, 3, 40, 384, 32),
  ])
  func packedRowsAreWholePanels(columns: Int, bits: Int, group: Int, codes: Int, scales: Int) throws {
    let format = WeightFormat.grid(bits: bits, group: group)
    for (rows, panels) in [(1, 1), (16, 1), (17, 2), (40, 3)] {
      #expect(format.elementByteCount(rows: rows, columns: columns) == panels * codes)
      #expect(format.scaleByteCount(rows: rows, columns: columns) == panels * scales)
      let grid = try #require(format.grid)
      let shape = grid.codeShape(rows: rows, columns: columns)
      #expect(shape[0] == panels && shape[1] * shape[2] == codes && shape[2] == 64)
      let scaleShape = grid.scaleShape(rows: rows, columns: columns)
      #expect(scaleShape[0] == (panels == 1 ? 2 : panels == 3 ? 4 : 2) && scaleShape[1] * scaleShape[2] * 2 == scales)
      let weight = Weight(
        rows: rows, columns: columns, format: format, elements: Bytes(SharedBytes(zeroed: panels * codes)),
        scales: Bytes(SharedBytes(zeroed: panels * scales)))
      #expect(weight.byteCount == panels * (codes + scales) && weight.shape == "[\(rows), \(columns)]")
    }
  }

  @Test func wrongByteCountsTrap() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Weight(rows: 2, columns: 3, format: .bf16, elements: Bytes(SharedBytes(zeroed: 24)))
    }
    expectTrap("Weight [2, 3] bf16: 24 bytes, expected 12", result)
  }

  @Test func aGridOfFiveBitsTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Weight(rows: 1, columns: 16, format: .grid(bits: 5, group: 16), elements: Bytes(SharedBytes(zeroed: 64)))
    }
    expectTrap("WeightFormat: a grid of 5 bits; the table has [2, 3, 4, 8]", result)
  }

  @Test func groupsThatSplitAVectorTrap() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Weight(rows: 1, columns: 64, format: .grid(bits: 2, group: 24), elements: Bytes(SharedBytes(zeroed: 16)))
    }
    expectTrap("Weight [1, 64]: 2 bits, groups of 24, not of a multiple of 16 or a row", result)
  }

  @Test func floatsAreRoundedToBFloat() {
    let values: [Float] = [1, -2.5, 3.14159265, 1e-30, -0.1, 65_504]
    let rounded = Weight(rows: 2, columns: 3, values: values).roundedToBFloat()
    #expect(rounded.format == .bf16 && rounded.rows == 2 && rounded.columns == 3)
    let patterns = values.map { BFloat16($0).bitPattern }
    #expect(rounded.elements.array == patterns.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] })
    #expect(rounded.roundedToBFloat().elements.array == rounded.elements.array)
  }

  @Test func packedCodesHaveNoFloats() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let weight = Weight(rows: 1, columns: 2, format: .f16, elements: Bytes(SharedBytes(zeroed: 4)))
      print(weight.values.count)
    }
    expectTrap("Weight.values: the format is f16, not f32", result)
  }
}

@Suite struct BytesTests {
  @Test func slicesNestAndCheckTheirRange() {
    let bytes = Bytes(SharedBytes([0, 1, 2, 3, 4, 5, 6, 7]))
    let slice = bytes.slice(2..<7).slice(1..<4)
    #expect(slice.array == [3, 4, 5] && slice.count == 3 && slice.offset == 3 && slice[2] == 5)
    #expect(Array(copying: slice.bytes) == [3, 4, 5] && slice.span.byteCount == 3)
  }

  @Test func aSliceBeyondItsBytesTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Bytes(SharedBytes(zeroed: 8)).slice(4..<6).slice(0..<3)
    }
    expectTrap("Bytes.slice: 0..<3 outside 2 bytes", result)
  }

  @Test func anIndexBehindASliceTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      print(Bytes(SharedBytes(zeroed: 8)).slice(4..<6)[2])
    }
    expectTrap("Bytes: index 2 outside 0..<2", result)
  }
}
