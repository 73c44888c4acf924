import DibitTensor
import Testing

@Suite struct BufferTests {
  @Test(arguments: [0, 1, 3, 16, 17, 1000, 100_000])
  func memoryIsZeroedAndAligned(count: Int) {
    let floats = Buffer<Float>(count: count)
    #expect(floats.count == count && floats.span.count == count)
    #expect(floats.span.indices.allSatisfy { floats.span[$0] == 0 })
    #expect(unsafe UInt(bitPattern: floats.pointer) % 64 == 0)
    let bytes = Buffer<UInt8>(count: count)
    #expect(bytes.span.indices.allSatisfy { bytes.span[$0] == 0 })
    #expect(unsafe UInt(bitPattern: bytes.pointer) % 64 == 0)
  }

  /// Memory that was used before must be zeroed again.
  @Test func memoryIsZeroedEveryTime() {
    for _ in 0..<50 {
      var buffer = Buffer<UInt64>(count: 512)
      #expect(buffer.span.indices.allSatisfy { buffer.span[$0] == 0 })
      for index in 0..<512 { buffer[index] = .max }
    }
  }

  @Test func spansAndSubscriptsSeeTheSameElements() {
    var buffer = Buffer<Int32>(count: 4)
    buffer[2] = 7
    var span = buffer.mutableSpan
    span[3] = 9
    #expect(Array(copying: buffer.span) == [0, 0, 7, 9])
  }

  @Test func allocationsAreCounted() {
    let before = bufferAllocationCount()
    let buffer = Buffer<Float>(count: 1)
    #expect(bufferAllocationCount() > before && buffer.count == 1)
  }

  @Test func anIndexBehindTheEndTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let buffer = Buffer<Float>(count: 3)
      print(buffer[3])
    }
    expectTrap("Buffer: index 3 outside 0..<3", result)
  }

  @Test func aNegativeIndexTrapsOnWriting() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var buffer = Buffer<Float>(count: 3)
      buffer[-1] = 1
    }
    expectTrap("Buffer: index -1 outside 0..<3", result)
  }

  @Test func aNegativeCountTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { _ = Buffer<Float>(count: -1) }
    expectTrap("Buffer: count -1 is negative", result)
  }

  @Test func aCountThatOverflowsTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { _ = Buffer<Float>(count: 1 << 62) }
    expectTrap("Buffer: 4611686018427387904 elements of 4 bytes overflow", result)
  }
}

@Suite struct MatrixTests {
  @Test func elementsLieRowByRow() {
    var m = Matrix(rows: 2, columns: 3, values: [1, 2, 3, 4, 5, 6])
    #expect(m[1, 0] == 4 && m[0, 2] == 3)
    m[1, 2] = 9
    #expect(m.values == [1, 2, 3, 4, 5, 9])
    #expect(m.shape == "[2, 3]" && m.count == 6 && m.capacity == 2)
    #expect(unsafe UInt(bitPattern: m.pointer) % 64 == 0)
  }

  @Test func fewerRowsUseTheFrontOfTheAllocation() {
    var m = Matrix(rows: 3, columns: 2, values: [1, 2, 3, 4, 5, 6])
    m.setRows(1)
    m.fill(8)
    #expect(m.values == [8, 8] && m.capacity == 3)
    m.setRows(3)
    #expect(m.values == [8, 8, 3, 4, 5, 6])
    m.setRows(0)
    #expect(m.values.isEmpty)
  }

  @Test func copyTakesEveryElement() {
    let source = Matrix(rows: 2, columns: 2, values: [1, 2, 3, 4])
    var target = Matrix(rows: 2, columns: 2)
    target.copy(source)
    #expect(target.values == source.values)
  }

  @Test func assigningKeepsTheAllocationWhereItIsLargeEnough() {
    var m = Matrix(rows: 3, columns: 2, values: [1, 2, 3, 4, 5, 6])
    let before = unsafe UInt(bitPattern: m.pointer)
    let wide: [Float] = [7, 8, 9]
    m.assign(wide.span, columns: 3)
    #expect(m.shape == "[1, 3]" && m.values == wide && m.capacity == 2)
    #expect(unsafe UInt(bitPattern: m.pointer) == before)
    let large: [Float] = [1, 2, 3, 4, 5, 6, 7, 8]
    m.assign(large.span, columns: 2)
    #expect(m.shape == "[4, 2]" && m.values == large && m.capacity == 4)
  }

  @Test func nothingCanBeAssigned() {
    var m = Matrix(rows: 2, columns: 2, values: [1, 2, 3, 4])
    let none: [Float] = []
    m.assign(none.span, columns: 2)
    #expect(m.shape == "[0, 2]" && m.values.isEmpty)
    m.assign(none.span, columns: 0)
    #expect(m.shape == "[0, 0]")
  }

  @Test func copiedValuesAreThoseInUse() {
    var m = Matrix(rows: 2, columns: 2, values: [1, 2, 3, 4])
    let copy = m.copied()
    m[0, 1] = 7
    #expect(copy.values == [1, 2, 3, 4])
    #expect(m.copied().values == [1, 7, 3, 4])
    m.setRows(1)
    #expect(m.copied().values == [1, 7])
    m.setRows(0)
    #expect(m.copied().values.isEmpty)
  }

  @Test func valuesThatFillNoRowTrap() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var m = Matrix(rows: 2, columns: 3)
      let values: [Float] = [1, 2, 3, 4]
      m.assign(values.span, columns: 3)
    }
    expectTrap("Matrix: 4 values for rows of 3", result)
  }

  @Test func aColumnOutsideTrapsAlthoughTheElementExists() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { print(Matrix(rows: 2, columns: 3)[0, 3]) }
    expectTrap("Matrix: [0, 3] outside [2, 3]", result)
  }

  @Test func aRowThatIsNotInUseTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var m = Matrix(rows: 2, columns: 3)
      m.setRows(1)
      m[1, 0] = 1
    }
    expectTrap("Matrix: [1, 0] outside [1, 3]", result)
  }

  @Test func moreRowsThanAllocatedTrap() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var m = Matrix(rows: 2, columns: 3)
      m.setRows(3)
    }
    expectTrap("Matrix: 3 rows exceed the capacity of 2", result)
  }

  @Test func tooFewValuesTrap() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Matrix(rows: 2, columns: 3, values: [1, 2, 3, 4, 5])
    }
    expectTrap("Matrix: 5 values for shape [2, 3]", result)
  }

  @Test func copyingAnotherShapeTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var m = Matrix(rows: 2, columns: 3)
      m.copy(Matrix(rows: 3, columns: 2))
    }
    expectTrap("Matrix.copy: [3, 2] into [2, 3]", result)
  }
}

@Suite struct BFloat16Tests {
  @Test func everyPatternSurvivesARoundTrip() {
    let wrong = (UInt16.min...UInt16.max).filter { pattern in
      let value = Float(BFloat16(bitPattern: pattern))
      if value.isNaN { return !Float(BFloat16(value)).isNaN }
      return BFloat16(value).bitPattern != pattern
    }
    #expect(wrong.isEmpty)
  }

  /// Between two neighbours the nearer wins, and in the middle the even one.
  @Test func roundingIsToNearestTiesToEven() {
    for pattern in stride(from: UInt16(0), to: 0x7F80, by: 37) {
      let low = UInt32(pattern) << 16
      let even = pattern % 2 == 0 ? pattern : pattern + 1
      #expect(BFloat16(Float(bitPattern: low + 0x7FFF)).bitPattern == pattern)
      #expect(BFloat16(Float(bitPattern: low + 0x8000)).bitPattern == even)
      #expect(BFloat16(Float(bitPattern: low + 0x8001)).bitPattern == pattern + 1)
      #expect(BFloat16(-Float(bitPattern: low + 0x8000)).bitPattern == even | 0x8000)
    }
  }

  @Test func specialValuesStay() {
    #expect(Float(BFloat16(Float.infinity)) == .infinity && Float(BFloat16(-Float.infinity)) == -.infinity)
    #expect(Float(BFloat16(Float.greatestFiniteMagnitude)) == .infinity)
    #expect(BFloat16(-0.0).bitPattern == 0x8000)
    // A NaN whose payload lies in the lower half must not become an infinity.
    #expect(Float(BFloat16(Float(bitPattern: 0x7F80_0001))).isNaN && Float(BFloat16(Float.nan)).isNaN)
  }
}
