import DibitFailure
@testable import DibitFiles
import Glibc
import Testing

@Suite struct FileErrorTests {
  @Test func sentences() {
    let sentences: [(FileError, String)] = [
      (.notFound(path: "m"), "'m': no such file or directory"),
      (.notAFile(path: "m", found: .directory), "'m': a regular file expected, a directory found"),
      (.notReadable(path: "m", code: EACCES), "'m': cannot be read: Permission denied"),
      (.outputExists(path: "o"), "'o': the output exists already; choose another name"),
      (.system(operation: "read", path: "m", code: EIO), "'m': cannot read: Input/output error"),
      // What is being written is called what it will be called.
      (
        .system(operation: "write", path: "d/.m.partial-14279/model.safetensors", code: ENOSPC),
        "'d/m/model.safetensors': cannot write: No space left on device"
      ), (.notWritable(path: "ro/.r.html.partial-14343-1", code: EACCES), "'ro/r.html': cannot be created: Permission denied"),
      (.notWritable(path: "ro/.mine.partial-notes", code: EACCES), "'ro/.mine.partial-notes': cannot be created: Permission denied"),
    ]
    for (error, sentence) in sentences { #expect(error.description == sentence) }
  }

  @Test func everyErrorHasASentenceAndAKind() {
    let kinds: [(FailureKind, [FileError])] = [
      (.notFound, [.notFound(path: "p"), .notAFile(path: "p", found: .other)]),
      (.noPermission, [.notReadable(path: "p", code: 1)]),
      (.badData, [.emptyFile(path: "p"), .tooLarge(path: "p", limit: 1, found: 2)]),
      (
        .cannotCreate,
        [
          .outputExists(path: "p"), .badOutputName(path: "p"), .missingParent(path: "p", parent: "d"), .notWritable(path: "p", code: 1),
          .parentNotADirectory(path: "p", parent: "d", found: .regular), .notReplaceable(path: "p", .noManifest),
          .outputInUse(path: "p", partial: "q"),
        ]
      ),
      (.inputOutput, [.system(operation: "read", path: "p", code: 5)]),
    ]
    for (expected, errors) in kinds {
      for error in errors {
        #expect(error.kind == expected)
        #expect(error.description.hasPrefix("'"))
      }
    }
  }

  @Test func whatCannotBeReadHasAReason() {
    #expect(FileError.notReadable(path: "p", code: EACCES).unreadableReason == .noPermission)
    #expect(FileError.notFound(path: "p").unreadableReason.description == "it no longer exists")
    #expect(FileError.notAFile(path: "p", found: .other).unreadableReason.description == "a device, pipe or socket")
    #expect(FileError.system(operation: "read", path: "p", code: EIO).unreadableReason.description == "Input/output error")
    let empty = FileError.emptyFile(path: "p")
    #expect(empty.unreadableReason == .file(empty) && empty.unreadableReason.kind == .badData)
  }

  @Test func namesCannotWriteToTheTerminal() {
    #expect(quoted("a\u{1B}[31mb\n") == #"'a\u{1B}[31mb\u{A}'"#)
    #expect(quoted("\u{202E}x") == #"'\u{202E}x'"#)
    #expect(quoted("größe/重み") == "'größe/重み'")
    #expect(quoted(String(repeating: "x", count: 1_000_000)).count == 163)
  }

  @Test func outputNames() {
    #expect(["out", "./out", "a/b//", "/", "//"].map(outputPath) == ["out", "./out", "a/b", "/", "/"])
    #expect(join("a b//", "c") == "a b/c" && join("/", "c") == "/c")
    #expect(finalPath("./.out.partial-12/file") == "out/file" && finalPath("./a/.out.partial-12") == "a/out")
    func split(_ path: String) -> [String]? { splitOutput(path).map { [$0.parent, $0.name] } }
    #expect(split("out") == [".", "out"])
    #expect(split("a/b//") == ["a", "b"])
    #expect(split("/out") == ["/", "out"])
    #expect(split("../x") == ["..", "x"])
    for path in ["", "/", "//", ".", "..", "a/.", "a/..", "a\0"] { #expect(split(path) == nil) }
  }
}
