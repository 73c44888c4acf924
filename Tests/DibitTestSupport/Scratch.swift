internal import DibitCheckpoint
internal import DibitFiles
internal import FoundationEssentials

/// A temporary directory that is removed with its owner.
package final class Scratch: Sendable {
  /// Where it is.
  package let path: String

  /// Creates it under the system's temporary directory.
  package init() {
    path = "/tmp/dibit-tests-\(UUID().uuidString)"
    do { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) } catch {
      fatalError("cannot create \(path): \(error)")
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of something in it.
  package func callAsFunction(_ name: String) -> String { path + "/" + name }

  /// Writes a file, creating the directories around it, and returns its path.
  @discardableResult
  package func write(_ bytes: [UInt8], to name: String) throws -> String {
    let file = self(name)
    let parent = String(file[..<(file.lastIndex(of: "/") ?? file.startIndex)])
    try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
    guard FileManager.default.createFile(atPath: file, contents: Data(bytes)) else {
      throw ScratchError(description: "cannot write \(file)")
    }
    return file
  }

  /// Writes a file in it and returns its path.
  @discardableResult
  package func write(_ text: String, to name: String) throws -> String { try write(Array(text.utf8), to: name) }

  /// Creates a folder in it and returns its path.
  @discardableResult
  package func directory(_ name: String) throws -> String {
    try FileManager.default.createDirectory(atPath: self(name), withIntermediateDirectories: true)
    return self(name)
  }

  /// Copies what lies at an absolute path into it.
  @discardableResult
  package func copy(_ source: String, to name: String) throws -> String {
    try FileManager.default.copyItem(atPath: source, toPath: self(name))
    return self(name)
  }

  /// Removes a file or folder in it.
  package func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: self(name)) }

  /// The names in it, hidden ones too, sorted.
  package var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}

/// Why a temporary file cannot be made.
package struct ScratchError: Error, CustomStringConvertible {
  /// One sentence.
  package let description: String
}

/// The bytes of a file.
package func contents(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }

/// The text of a file.
package func text(_ path: String) throws -> String { String(decoding: try contents(path), as: UTF8.self) }

/// Whether something lies at `path`.
package func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

/// Every file below a folder, by relative path.
package func files(below folder: String) throws -> [String: [UInt8]] {
  var found: [String: [UInt8]] = [:]
  for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
    var isFolder = false
    if FileManager.default.fileExists(atPath: folder + "/" + name, isDirectory: &isFolder), !isFolder {
      found[name] = try contents(folder + "/" + name)
    }
  }
  return found
}

/// Writes a safetensors file of floats.
package func writeSafetensors(_ tensors: [TinyTensor], to path: String) throws {
  var writer = try SafetensorsWriter(path: path, tensors: tensors.map { (name: $0.name, dtype: $0.dtype, shape: $0.shape) })
  for tensor in tensors {
    let values = tensor.values
    try writer.append(floats: values.span, as: tensor.dtype)
  }
  _ = try writer.finalize()
}
