@testable import DibitCheckpoint
@testable import DibitFiles
import DibitTensor
import Glibc
import Testing

/// Prints speeds when DIBIT_BENCH is set; run it with `-c release`.
@Suite struct ReadSpeedTests {
  @Test(.enabled(if: unsafe getenv("DIBIT_BENCH") != nil), arguments: [DType.f32, .f16, .bf16, .f64, .f8e4m3, .i8])
  func rows(dtype: DType) throws {
    let scratch = Scratch()
    let (rows, columns) = (16_384, 4096)
    var writer = try SafetensorsWriter(path: scratch("f"), tensors: [(name: "w", dtype: dtype, shape: [rows, columns])])
    let row = (0..<columns * dtype.byteCount).map { UInt8(truncatingIfNeeded: $0 &* 131) }
    let clock = ContinuousClock()
    let written = try clock.measure { for _ in 0..<rows { try writer.put(bytes: row) } }
    _ = try writer.finalize()
    let checkpoint = try Checkpoint.open(scratch("f"))
    var matrix = Matrix(rows: 64, columns: columns)
    var speeds: [Double] = []
    for _ in 0..<3 {
      let time = try clock.measure {
        for first in stride(from: 0, to: rows, by: 64) { try checkpoint.readRows("w", rows: first..<first + 64, into: &matrix) }
      }
      speeds.append(Double(rows * row.count) / (time / .seconds(1)) / 1e9)
    }
    let before = residentBytes()
    checkpoint.release("w")
    let after = residentBytes()
    #expect(after < before, "releasing a tensor that was read gives its pages back")
    print(
      "\(dtype.rawValue): read \(speeds.map { Float($0) }) GB/s of the file, write with digest",
      Float(Double(rows * row.count) / (written / .seconds(1)) / 1e9),
      "GB/s, resident \(before >> 20) MiB, after release \(after >> 20) MiB")
  }

  private func residentBytes() -> Int {
    let text = (try? readFile("/proc/self/statm", limit: 1000)) ?? []
    let fields = text.split(separator: UInt8(ascii: " "))
    return fields.count > 1 ? (Int(String(decoding: fields[1], as: UTF8.self)) ?? 0) * 4096 : 0
  }
}
