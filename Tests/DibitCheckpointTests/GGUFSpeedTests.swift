import DibitTensor
import Glibc
import Testing

@testable import DibitCheckpoint

/// Prints speeds when DIBIT_BENCH is set (run it with `-c release`), of reading that gives what reading all at once gives.
@Suite struct GGUFSpeedTests {
  @Test(.enabled(if: unsafe getenv("DIBIT_BENCH") != nil))
  func blocks() {
    let clock = ContinuousClock()
    for type in GGMLType.allCases where type.isReadable && type.dtype == nil {
      let count = (8 << 20) / type.blockBytes
      let blocks = bytes(randomBlocks(type, scales: [], count: count))
      // Rows that stay in the cache, as the program reads them.
      let rows = 64
      let step = count / rows
      var values = [Float](repeating: 0, count: step * type.blockSize)
      var best = Duration.seconds(1000)
      for _ in 0..<5 {
        let time = clock.measure {
          for row in 0..<rows {
            var span = values.mutableSpan
            GGMLBlocks.widen(blocks.slice(row * step * type.blockBytes..<(row + 1) * step * type.blockBytes), type, into: &span)
          }
        }
        best = min(best, time)
      }
      let whole = widenedBlocks(Array(blocks.slice(0..<rows * step * type.blockBytes).array), type)
      #expect(values.map(\.bitPattern) == whole.suffix(values.count).map(\.bitPattern), "\(type)")
      let seconds = best / .seconds(1)
      print(
        type, Int(Double(rows * step * type.blockBytes) / seconds / 1e6), "MB/s of the file,",
        Int(Double(rows * step * type.blockSize) / seconds / 1e6), "M elements/s")
    }
  }
}
