@testable import DibitFiles
import DibitTensor
import Glibc
import DibitTestSupport
import Testing

@Suite struct MappedFileTests {
  @Test func bytesOfTheFile() throws {
    let scratch = Scratch()
    let content = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let mapped = try MappedFile(path: try scratch.write(content, to: "a"))
    #expect(mapped.bytes.array == content)
    mapped.discard(5000..<90_000)
    mapped.discard(0..<1 << 40)
    mapped.discard(-5..<0)
    #expect(mapped.bytes.array == content)
  }

  @Test func slicesOutliveTheFile() throws {
    let scratch = Scratch()
    func tail() throws -> Bytes {
      let path = try scratch.write("hello", to: "a")
      let slice = try MappedFile(path: path).bytes.slice(1..<5)
      SystemCall.unlink(path)
      return slice
    }
    #expect(try tail().array == Array("ello".utf8))
  }

  @Test func typedErrors() throws {
    let scratch = Scratch()
    let missing = scratch("missing")
    #expect(throws: FileError.notFound(path: missing)) { _ = try MappedFile(path: missing) }
    #expect(throws: FileError.notFound(path: missing + "\0x")) { _ = try MappedFile(path: missing + "\0x") }
    let file = try scratch.write("x", to: "file")
    #expect(throws: FileError.notFound(path: file + "/below")) { _ = try MappedFile(path: file + "/below") }
    #expect(throws: FileError.notAFile(path: scratch.path, found: .directory)) { _ = try MappedFile(path: scratch.path) }
    let empty = try scratch.write("", to: "empty")
    #expect(throws: FileError.emptyFile(path: empty)) { _ = try MappedFile(path: empty) }
    let pipe = scratch("pipe")
    #expect(unsafe mkfifo(pipe, 0o600) == 0)
    #expect(throws: FileError.notAFile(path: pipe, found: .other)) { _ = try MappedFile(path: pipe) }
    #expect(throws: FileError.notAFile(path: "/dev/zero", found: .other)) {
      _ = try MappedFile(path: "/dev/zero")
    }
  }

  @Test func unreadable() throws {
    // The superuser reads everything.
    guard geteuid() != 0 else { return }
    let path = try Scratch().write("x", to: "secret")
    _ = unsafe chmod(path, 0)
    #expect(throws: FileError.notReadable(path: path, code: EACCES)) { _ = try MappedFile(path: path) }
  }

  @Test func smallFiles() throws {
    let scratch = Scratch()
    let path = try scratch.write("12345", to: "a")
    #expect(try readFile(path, limit: 5) == Array("12345".utf8))
    #expect(throws: FileError.tooLarge(path: path, limit: 4, found: 5)) { try readFile(path, limit: 4) }
    #expect(try readFile(try scratch.write("", to: "empty"), limit: Int.max) == [])
    #expect(throws: FileError.notFound(path: scratch("b"))) { try readFile(scratch("b"), limit: 4) }
    #expect(throws: FileError.notAFile(path: scratch.path, found: .directory)) { try readFile(scratch.path, limit: 4) }
    #expect(try !readFile("/proc/self/stat", limit: 10_000).isEmpty)
  }
}
