import DibitFailure
import DibitCheckpoint
@testable import DibitFiles
import DibitTensor
import DibitTestSupport
import Testing

/// A full disk is found before the work.
@Suite struct FreeSpaceTests {
  private func fault(_ bytes: Int, largest: Int? = nil, at path: String, in space: FreeSpace) -> FileError? {
    error { () throws(FileError) in try space.check(bytes, largest: largest, at: path) }
  }

  @Test func lessThanNeeded() throws {
    let space = FreeSpace(ofFileSystem: { $0 == "/full" ? 99 : $0 == "." ? 50 : nil })
    #expect(fault(99, at: "/full/out", in: space) == nil)
    let refusal = try #require(fault(100, at: "/full/out", in: space))
    #expect(refusal.description == "'/full': 100 bytes are needed there, 99 are free; make room or choose another place")
    #expect(refusal.kind == .inputOutput)
    // The name that an output has until it is whole is nobody's business.
    #expect(fault(100, at: "/full/.out.partial-12/model.safetensors", in: space) == refusal)
    #expect(fault(51, at: "out", in: space) == .noSpace(directory: ".", needed: 51, free: 50))
    // A file system that does not say.
    #expect(fault(.max, at: "/other/out", in: space) == nil)
  }

  @Test func filesThatMayNotGrow() throws {
    let space = FreeSpace(ofFileSystem: { _ in 1000 }, ofFile: 10)
    #expect(fault(30, largest: 10, at: "/a/b", in: space) == nil)
    let refusal = try #require(fault(30, largest: 11, at: "/a/b", in: space))
    #expect(refusal.description == "'/a': a file of 11 bytes is needed there, at most 10 are allowed (ulimit -f)")
    #expect(refusal.kind == .inputOutput)
  }

  @Test func thisFileSystem() throws {
    let scratch = Scratch()
    #expect(fault(1, at: scratch("x"), in: FreeSpace()) == nil)
    guard case .noSpace(scratch.path, 1 << 62, let free) = fault(1 << 62, at: scratch("x"), in: FreeSpace()) else {
      Issue.record("no disk holds so much")
      return
    }
    #expect(free > 0)
  }

  @Test func writersLookFirst() throws {
    let scratch = Scratch()
    let huge = error { () throws(CheckpointError) in
      _ = try SafetensorsWriter(path: scratch("x"), tensors: [(name: "a", dtype: .f32, shape: [1 << 58])])
    }
    guard case .file(.noSpace(scratch.path, _, _)) = huge else {
      Issue.record("\(String(describing: huge))")
      return
    }
    #expect(scratch.names == [])
  }
}
