@testable import DibitCheckpoint
@testable import DibitFiles
import DibitTensor
import Glibc
import Synchronization
import Testing

private let scratchCount = Atomic<Int>(0)

/// A directory that is removed with its owner.
final class Scratch: Sendable {
  let path: String

  init() {
    path = "/tmp/dibit-checkpoint-\(getpid())-\(scratchCount.wrappingAdd(1, ordering: .relaxed).newValue)"
    removeTree(path)
    #expect(SystemCall.makeDirectory(path) == 0)
  }

  deinit { removeTree(path) }

  /// The path of a file in it.
  func callAsFunction(_ name: String) -> String { join(path, name) }

  /// Writes a file into it.
  @discardableResult
  func write(_ bytes: [UInt8], to name: String) throws -> String {
    try createFile(self(name)).write(bytes.span)
    return self(name)
  }

  @discardableResult
  func write(_ text: String, to name: String) throws -> String { try write(Array(text.utf8), to: name) }

  @discardableResult
  func directory(_ name: String) -> String {
    #expect(SystemCall.makeDirectory(self(name)) == 0)
    return self(name)
  }

  /// The names in it, hidden ones too.
  func names() throws -> [String] { try directoryNames(path) }
}

/// Whether `path` names anything.
func exists(_ path: String) -> Bool { FileStatus(path: path, followingLinks: false) != nil }

/// A safetensors file with this header and as many data bytes, counted up from zero.
func safetensors(_ header: String, data: Int) -> [UInt8] { safetensors(Array(header.utf8), data: data) }

func safetensors(_ header: [UInt8], data: Int) -> [UInt8] {
  littleEndian(UInt64(header.count)) + header + (0..<data).map { UInt8(truncatingIfNeeded: $0) }
}

func littleEndian(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }

func bytes(_ array: [UInt8]) -> Bytes { Bytes(SharedBytes(array)) }

/// The fault of a file with these bytes, or nil when it is accepted.
func fault(_ array: [UInt8]) -> SafetensorsFault? {
  do throws(CheckpointError) {
    _ = try SafetensorsFile(bytes(array), file: "f")
    return nil
  } catch {
    guard case .malformed(file: "f", let fault) = error else {
      Issue.record("\(error)")
      return nil
    }
    return fault
  }
}

/// The error of `body`, which must throw one.
func error(of body: () throws(CheckpointError) -> Void) -> CheckpointError? {
  do throws(CheckpointError) {
    try body()
    return nil
  } catch {
    return error
  }
}

// Arrays, because Swift 6.3.1 cannot compile a throwing call with the span of a temporary array.
extension SafetensorsWriter {
  mutating func put(bytes array: [UInt8]) throws(CheckpointError) { try append(array.span) }
  mutating func put(floats array: [Float], as dtype: DType) throws(CheckpointError) { try append(floats: array.span, as: dtype) }
}
