import DibitFailure
import DibitCheckpoint
@testable import DibitFiles
import DibitTensor
import Dispatch
import Foundation
import Glibc
import DibitTestSupport
import Testing

private let mark = DirectoryMark(format: "dibit-model", files: ["manifest.json", "letters"])

private func opening(_ path: String, overwrite: Bool = false) -> FileError? {
  error { () throws(FileError) in
    _ = try StagedDirectory(destination: path, replacing: overwrite ? mark : nil, inputs: .none)
  }
}

private func text(_ path: String) throws -> String { String(decoding: try readFile(path, limit: 1000), as: UTF8.self) }

/// Serialized: one test removes the partial outputs of the whole process.
@Suite(.serialized) struct StagedDirectoryTests {
  @Test func appearsWhole() throws {
    let scratch = Scratch()
    let staged = try StagedDirectory(destination: scratch("out/"), inputs: .none)
    #expect(staged.destination == scratch("out") && staged.partialPath == scratch(".out.partial-\(getpid())"))
    try staged.write("{}", to: "manifest.json")
    try staged.write([1, 2], to: "codes")
    var writer = try SafetensorsWriter(path: staged.path(of: "model.safetensors"), tensors: [(name: "a", dtype: .u8, shape: [1])])
    let codes: [UInt8] = [5]
    try writer.append(codes.span)
    _ = try writer.finalize()
    #expect(PartialOutputs.contains(staged.partialPath) && !exists(scratch("out")))
    try staged.commit()
    #expect(scratch.names == ["out"])
    #expect(try directoryNames(scratch("out")) == ["codes", "manifest.json", "model.safetensors"])
    #expect(try Checkpoint.open(scratch("out")).readVector("a") == [5])
    #expect(!PartialOutputs.contains(scratch(".out.partial-\(getpid())")))
  }

  @Test func vanishesWhenDropped() throws {
    let scratch = Scratch()
    func abandoned() throws {
      let staged = try StagedDirectory(destination: scratch("out"), inputs: .none)
      try staged.write("x", to: "a")
      #expect(SystemCall.makeDirectory(staged.path(of: "sub")) == 0)
      throw FileError.notFound(path: "x")
    }
    #expect(throws: FileError.notFound(path: "x")) { try abandoned() }
    #expect(scratch.names == [])
  }

  @Test func existingOutputs() throws {
    let scratch = Scratch()
    let out = try scratch.directory("out")
    #expect(opening(out) == .outputExists(path: out))
    // Nothing is lost with an empty directory.
    #expect(opening(out, overwrite: true) == nil)
    try scratch.write("mine", to: "out/notes.txt")
    #expect(opening(out) == .outputExists(path: out))
    let refusal = try #require(opening(out, overwrite: true))
    #expect(refusal.kind == .cannotCreate)
    #expect(
      refusal.description
        == "'\(out)': will not be overwritten, because it is a directory without manifest.json, so it may not be an output of dibit; "
        + "remove it by hand or choose another name")
    // A manifest of someone else, and an output of ours into which something was put.
    try scratch.write(#"{"format": "theirs"}"#, to: "out/manifest.json")
    #expect(
      opening(out, overwrite: true) == .notReplaceable(path: out, .foreignManifest))
    SystemCall.unlink(scratch("out/notes.txt"))
    SystemCall.unlink(scratch("out/manifest.json"))
    try scratch.write(#"{"format": "dibit-model"}"#, to: "out/manifest.json")
    #expect(opening(out, overwrite: true) == nil)
    // A name that is ours is ours as a file.
    try scratch.directory("out/letters")
    #expect(
      opening(out, overwrite: true)
        == .notReplaceable(path: out, .foreignEntry("letters")))
    SystemCall.removeDirectory(scratch("out/letters"))
    try scratch.write("mine", to: "out/notes.txt")
    #expect(
      opening(out, overwrite: true)
        == .notReplaceable(path: out, .foreignEntry("notes.txt")))
    SystemCall.unlink(scratch("out/notes.txt"))
    // Another kind of output of ours.
    SystemCall.unlink(scratch("out/manifest.json"))
    try scratch.write(#"{"format": "dibit-adapter"}"#, to: "out/manifest.json")
    #expect(
      opening(out, overwrite: true)
        == .notReplaceable(path: out, .otherFormat(found: "dibit-adapter", expected: "dibit-model")))
    let file = try scratch.write("x", to: "file")
    #expect(opening(file, overwrite: true) == .notReplaceable(path: file, .type(.regular)))
    #expect(unsafe symlink("out", scratch("link")) == 0)
    #expect(opening(scratch("link"), overwrite: true) == .notReplaceable(path: scratch("link"), .type(.symbolicLink)))
    #expect(opening(scratch("link")) == .outputExists(path: scratch("link")))
    #expect(scratch.names == ["file", "link", "out"])
  }

  @Test(arguments: [Replacement.Method.exchange, .setAside])
  func replacing(by method: Replacement.Method) throws {
    let scratch = Scratch()
    try scratch.write("old", to: "\(try scratch.directory("old").split(separator: "/").last ?? "")/manifest.json")
    try scratch.directory("old/sub")
    try scratch.write("old", to: "old/sub/deep")
    try scratch.directory("new")
    try scratch.write("new", to: "new/manifest.json")
    try Replacement.replace(scratch("old"), with: scratch("new"), by: method)
    #expect(scratch.names == ["old"])
    #expect(try directoryNames(scratch("old")) == ["manifest.json"] && text(scratch("old/manifest.json")) == "new")
  }

  @Test func aFailedReplacementKeepsTheOldOutput() throws {
    let scratch = Scratch()
    try scratch.directory("old")
    try scratch.write("old", to: "old/manifest.json")
    for method in [Replacement.Method.exchange, .setAside] {
      let error = error { () throws(FileError) in
        try Replacement.replace(scratch("old"), with: scratch("missing"), by: method)
      }
      #expect(error == .system(operation: "replace", path: scratch("old"), code: ENOENT))
      #expect(try scratch.names == ["old"] && text(scratch("old/manifest.json")) == "old")
    }
  }

  @Test func overwriting() throws {
    let scratch = Scratch()
    for content in [#"{"format": "dibit-model", "is": "first"}"#, #"{"format": "dibit-model", "is": "second"}"#] {
      let staged = try StagedDirectory(destination: scratch("out"), replacing: mark, inputs: .none)
      try staged.write(content, to: "manifest.json")
      if content.contains("second") {
        #expect(try text(scratch("out/manifest.json")).contains("first"))
        let mapped = try MappedFile(path: scratch("out/manifest.json"))
        try staged.commit()
        // A reader of the old output is not disturbed.
        #expect(mapped.bytes.array == Array(#"{"format": "dibit-model", "is": "first"}"#.utf8))
      } else {
        try staged.commit()
      }
      #expect(try scratch.names == ["out"] && text(scratch("out/manifest.json")) == content)
    }
  }

  @Test func outputsThatAppearMeanwhile() throws {
    let scratch = Scratch()
    for (name, overwrite) in [("plain", false), ("foreign", true)] {
      let staged = try StagedDirectory(destination: scratch(name), replacing: overwrite ? mark : nil, inputs: .none)
      try staged.write("ours", to: "manifest.json")
      try scratch.directory(name)
      try scratch.write("theirs", to: name + "/file")
      do throws(FileError) {
        try staged.commit()
        Issue.record("\(name) was replaced")
      } catch {
        #expect(error.kind == .cannotCreate)
      }
      #expect(try text(scratch(name + "/file")) == "theirs")
    }
    #expect(scratch.names == ["foreign", "plain"])
    try scratch.directory("empty")
    try scratch.directory("partial")
    #expect(
      error { () throws(FileError) in try Replacement.rename(scratch("partial"), to: scratch("empty")) }
        == .outputExists(path: scratch("empty")))
  }

  @Test func leftoversOfKilledJobsAreRemoved() throws {
    let scratch = Scratch()
    for name in [".out.partial-999999999", ".out.partial-\(getpid())", ".out.partial-notes", ".other.partial-1"] {
      try scratch.directory(name)
      try scratch.write("x", to: name + "/model.safetensors")
    }
    let staged = try StagedDirectory(destination: scratch("out"), inputs: .none)
    #expect(scratch.names == [".other.partial-1", ".out.partial-\(getpid())", ".out.partial-notes"])
    #expect(try directoryNames(staged.partialPath) == [])
    try staged.commit()
  }

  @Test func aKilledJobLeavesNothingForLong() async throws {
    let scratch = Scratch()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = scratch("out") as String] in
      let staged = try StagedDirectory(destination: path, inputs: .none)
      try staged.write("half", to: "model.safetensors")
      kill(getpid(), SIGKILL)
      try staged.commit()
    }
    let left = scratch.names
    #expect(left.map { String($0.prefix(13)) } == [".out.partial-"])
    try StagedDirectory(destination: scratch("out"), inputs: .none).commit()
    #expect(scratch.names == ["out"])
  }

  @Test func namesAreExchangedInOneStep() throws {
    let scratch = Scratch()
    try scratch.directory("a")
    try scratch.write("b", to: "b")
    let code = SystemCall.exchange(scratch("a"), scratch("b"))
    // Some file systems cannot; then outputs are set aside instead.
    #expect([0, EINVAL, ENOSYS, ENOTSUP].contains(code))
    #expect(FileStatus(path: scratch("a"), followingLinks: false)?.type == (code == 0 ? .regular : .directory))
    if code != 0 { print("this file system cannot exchange names: \(systemMessage(code))") }
  }

  @Test func workOfLiveJobsIsKept() throws {
    let scratch = Scratch()
    let live = try scratch.directory(".out.partial-1")
    guard let lock = FileDescriptor.open(live, flags: O_RDONLY | O_DIRECTORY), lock.lock() else {
      Issue.record("the directory cannot be locked")
      return
    }
    let staged = try StagedDirectory(destination: scratch("out"), inputs: .none)
    #expect(scratch.names == [".out.partial-1", ".out.partial-\(getpid())"])
    #expect(opening(scratch("out")) == .outputInUse(path: scratch("out"), partial: staged.partialPath))
    _ = consume lock
    try staged.commit()
    #expect(opening(scratch("out2")) == nil)
  }

  @Test func directoriesWhereNothingCanBeCreated() throws {
    let scratch = Scratch()
    #expect(opening(scratch("no/out")) == .missingParent(path: scratch("no/out"), parent: scratch("no")))
    try scratch.write("", to: "file")
    let blocked = FileError.parentNotADirectory(path: scratch("file/out"), parent: scratch("file"), found: .regular)
    #expect(opening(scratch("file/out")) == blocked)
    for path in ["", "/", ".", "..", "a/..", "a\0b"] { #expect(opening(path) == .badOutputName(path: path), "\(path)") }
    // The process file system lets nobody create anything.
    #expect(opening("/proc/dibit")?.kind == .cannotCreate)
    guard case .notWritable = opening("/proc/dibit") else {
      Issue.record("a directory was created in /proc")
      return
    }
  }

  @Test func writingAFileTwice() throws {
    let scratch = Scratch()
    let staged = try StagedDirectory(destination: scratch("out"), inputs: .none)
    try staged.write("a", to: "f")
    #expect(throws: FileError.outputExists(path: staged.path(of: "f"))) { try staged.write("b", to: "f") }
  }

  /// In a process of its own: other tests have directories that are not complete.
  @Test func interruption() async {
    await #expect(processExitsWith: .success) {
      let scratch = Scratch()
      let first = try StagedDirectory(destination: scratch("one"), inputs: .none)
      let second = try StagedDirectory(destination: scratch("two"), inputs: .none)
      try first.write("x", to: "a")
      cleanUpPartialDirectories()
      #expect(scratch.names == [])
      #expect(throws: FileError.self) { try second.write("x", to: "a") }
      do throws(FileError) {
        try first.commit()
        Issue.record("nothing was committed")
      } catch {
        #expect(error.kind == .notFound)
      }
      #expect(!exists(scratch("one")))
    }
  }

  @Test func interruptionBesideAWriter() async {
    await #expect(processExitsWith: .success) {
      let scratch = Scratch()
      let staged = try StagedDirectory(destination: scratch("out"), inputs: .none)
      let folder = scratch(try #require(scratch.names.first))
      try FileManager.default.createDirectory(atPath: folder + "/a/b", withIntermediateDirectories: true)
      try staged.write("x", to: "f")
      let started = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        for number in 0..<200_000 where FileManager.default.createFile(atPath: "\(folder)/a/\(number)", contents: nil) && number == 50 {
          started.signal()
        }
      }
      started.wait()
      cleanUpPartialDirectories()
      #expect(scratch.names == [])
      _ = consume staged
    }
  }

  @Test func pathsOutsideTrap() async {
    let scratch = Scratch()
    await #expect(processExitsWith: .failure) { [path = scratch("out") as String] in
      _ = try StagedDirectory(destination: path, inputs: .none).path(of: "../x")
    }
  }

  @Test func singleFiles() throws {
    let scratch = Scratch()
    let path = scratch("report.html")
    try writeFileAtomically(path: path, bytes: Array("one".utf8), inputs: .none)
    #expect(throws: FileError.outputExists(path: path)) { try writeFileAtomically(path: path, bytes: [], inputs: .none) }
    try writeFileAtomically(path: path, bytes: Array("two".utf8), replacing: .ownName, inputs: .none)
    #expect(try text(path) == "two")
    try scratch.directory("d")
    #expect(throws: FileError.notReplaceable(path: scratch("d"), .type(.directory))) {
      try writeFileAtomically(path: scratch("d"), bytes: [], replacing: .ownName, inputs: .none)
    }
    #expect(throws: FileError.notReplaceable(path: "/dev/full", .type(.other))) {
      try writeFileAtomically(path: "/dev/full", bytes: [1], replacing: .ownName, inputs: .none)
    }
    #expect(throws: FileError.missingParent(path: scratch("n/f"), parent: scratch("n"))) {
      try writeFileAtomically(path: scratch("n/f"), bytes: [], inputs: .none)
    }
    #expect(throws: FileError.badOutputName(path: "/")) { try writeFileAtomically(path: "/", bytes: [], inputs: .none) }
    #expect(scratch.names == ["d", "report.html"])
  }
}
