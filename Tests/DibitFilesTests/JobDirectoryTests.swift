import DibitFailure
import DibitCheckpoint
@testable import DibitFiles
import DibitTensor
import DibitTestSupport
import Testing

@Suite struct JobDirectoryTests {
  private let scratch = Scratch()

  @Test func goesWithItsOwnerUnlessKept() throws {
    do {
      let directory = try JobDirectory(of: scratch("out"), inputs: .none)
      #expect(directory.path == scratch("out.checkpoints"))
      try scratch.write("x", to: "out.checkpoints/a")
      #expect(try directory.names() == ["a"])
    }
    #expect(scratch.names == [])
    do {
      var directory = try JobDirectory(of: scratch("out"), inputs: .none)
      try scratch.write("x", to: "out.checkpoints/a")
      directory.keep()
    }
    #expect(exists(scratch("out.checkpoints/a")))
    // What was there before is not removed by an owner that kept nothing.
    do { _ = try JobDirectory(of: scratch("out"), inputs: .none).path }
    #expect(exists(scratch("out.checkpoints/a")))
    do {
      var directory = try JobDirectory(of: scratch("out"), inputs: .none)
      directory.removeAll()
    }
    #expect(scratch.names == [])
  }

  @Test func oneOwnerAtATime() throws {
    let first = try JobDirectory(of: scratch("out"), inputs: .none)
    #expect(throws: FileError.outputInUse(path: scratch("out"), partial: first.path)) {
      _ = try JobDirectory(of: scratch("out"), inputs: .none).path
    }
  }

  @Test func removesWhatAKilledOwnerWasWriting() throws {
    try scratch.write("x", to: "out.checkpoints/.step.partial-1-2")
    try scratch.write("x", to: "out.checkpoints/step")
    let directory = try JobDirectory(of: scratch("out"), inputs: .none)
    #expect(try directory.names() == ["step"])
  }

  @Test func refusals() throws {
    try scratch.write("x", to: "out.checkpoints")
    #expect(throws: FileError.notReplaceable(path: scratch("out.checkpoints"), .type(.regular))) {
      _ = try JobDirectory(of: scratch("out"), inputs: .none).path
    }
    #expect(throws: FileError.missingParent(path: scratch("no/out.checkpoints"), parent: scratch("no"))) {
      _ = try JobDirectory(of: scratch("no/out"), inputs: .none).path
    }
    #expect(throws: FileError.badOutputName(path: "/")) { _ = try JobDirectory.path(of: "/") }
  }

  @Test func journalsGrowAndAreCut() throws {
    func append(_ text: String, keeping bytes: Int) throws -> Int {
      var file = try JournalFile(path: scratch("log"), inputs: .none)
      try file.cut(after: bytes)
      try file.append(Array(text.utf8).span)
      try file.sync()
      return file.byteCount
    }
    #expect(try append("one\n", keeping: 0) == 4)
    #expect(try append("two\n", keeping: 4) == 8)
    #expect(try append("three\n", keeping: 100) == 14)
    #expect(try append("2\n", keeping: 4) == 6)
    #expect(try text(scratch("log")) == "one\n2\n")
    try scratch.directory("folder")
    #expect(throws: FileError.self) { _ = try JournalFile(path: scratch("folder"), inputs: .none).byteCount }
  }

  @Test func oneWriterAtATime() throws {
    let (log, folder) = (scratch("log"), try scratch.directory("folder"))
    do {
      var first = try JournalFile(path: log, inputs: .none)
      try first.append(Array("one".utf8).span)
      #expect(throws: FileError.outputInUse(path: log, partial: log)) { _ = try JournalFile(path: log, inputs: .none).byteCount }
      #expect(try text(log) == "one")
      let lock = try DirectoryLock(folder)
      let fault = #expect(throws: FileError.self) { _ = try DirectoryLock(folder) }
      #expect(fault?.description == "'\(folder)': another job is writing it" && fault?.kind == .cannotCreate)
      _ = lock
    }
    #expect(try JournalFile(path: log, inputs: .none).byteCount == 3)
    _ = try DirectoryLock(folder)
  }

  @Test func digestsSoFar() throws {
    var writer = try SafetensorsWriter(path: scratch("a"), tensors: [(name: "x", dtype: .u8, shape: [3])])
    let header = try writer.digest()
    try writer.append([1, 2, 3].span)
    let all = try writer.digest()
    #expect(header != all)
    #expect(try writer.finalize() == all)
  }
}
