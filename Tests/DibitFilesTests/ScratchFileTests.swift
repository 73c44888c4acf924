@testable import DibitFiles
import DibitTensor
import DibitTestSupport
import Glibc
import Testing

/// Files without a name.
@Suite struct ScratchFileTests {
  private func fault(path: String, bytes: Int) -> FileError? {
    error { () throws(FileError) in _ = try ScratchFile(path: path, bytes: bytes) }
  }

  @Test("matrices come back from where they were written, and nobody sees a file")
  func matrices() throws {
    let scratch = Scratch()
    let file = try ScratchFile(path: scratch("numbers"), bytes: 40)
    #expect(scratch.names == [])
    try file.write(Matrix(rows: 2, columns: 2, values: [5, 6, 7, 8]), at: 24)
    try file.write(Matrix(rows: 1, columns: 3, values: [1, -.infinity, .nan]), at: 0)
    var found = Matrix(rows: 2, columns: 2)
    try file.read(into: &found, at: 24)
    #expect(found.values == [5, 6, 7, 8])
    var other = Matrix(rows: 1, columns: 2)
    try file.read(into: &other, at: 0)
    #expect(other.values == [1, -.infinity])
    try file.write(Matrix(rows: 1, columns: 1, values: [9]), at: 28)
    try file.read(into: &found, at: 24)
    #expect(found.values == [5, 9, 7, 8])
  }

  @Test("what was never written is an error, not zeros")
  func behindTheEnd() throws {
    let scratch = Scratch()
    let file = try ScratchFile(path: scratch("numbers"), bytes: 16)
    try file.write(Matrix(rows: 1, columns: 2), at: 0)
    let refusal = error { () throws(FileError) in
      var found = Matrix(rows: 1, columns: 2)
      try file.read(into: &found, at: 4)
    }
    #expect(refusal == .system(operation: "read", path: scratch("numbers"), code: EIO))
  }

  @Test("a directory that is not there, a name that is taken and a disk that is too small are told")
  func refusals() throws {
    let scratch = Scratch()
    #expect(fault(path: scratch("none/numbers"), bytes: 1) == .notWritable(path: scratch("none/numbers"), code: ENOENT))
    try scratch.write("mine", to: "numbers")
    #expect(fault(path: scratch("numbers"), bytes: 1) == .notWritable(path: scratch("numbers"), code: EEXIST))
    #expect(try text(scratch("numbers")) == "mine")
    guard case .noSpace(scratch.path, 1 << 62, _) = fault(path: scratch("large"), bytes: 1 << 62) else {
      Issue.record("no disk holds so much")
      return
    }
  }
}
