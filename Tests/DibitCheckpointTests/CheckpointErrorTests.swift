import DibitTensor
import Glibc
import Testing

@testable import DibitCheckpoint

@Suite struct CheckpointErrorTests {
  @Test func sentences() {
    let sentences: [(CheckpointError, String)] = [
      (.notFound(path: "m"), "'m': no such file or directory"),
      (.notAFile(path: "m", found: "a directory"), "'m': a regular file expected, a directory found"),
      (.notReadable(path: "m", code: EACCES), "'m': cannot be read: Permission denied"),
      (
        .noTensors(directory: "d", found: (0..<10).map { "f\($0)" }),
        "'d': no file with tensors in this directory (safetensors, GGUF, HDF5, PyTorch or llama2.c); it holds 'f0', 'f1', 'f2', 'f3', 'f4', "
          + "'f5', 'f6', 'f7' and 2 more"
      ),
      (
        .malformed(file: "m", .truncated(expectedBytes: 100, foundBytes: 60)),
        "'m': the file is cut short: 100 bytes expected, 60 found, 40 missing; make or download it again"
      ),
      (
        .malformed(file: "m", .otherFormat(.gitLFSPointer)),
        "'m': a file with tensors expected (safetensors, GGUF, HDF5, PyTorch or llama2.c), a Git LFS pointer (run 'git lfs pull', or download the file itself) found"
      ),
      (
        .malformed(file: "m", .sizeMismatch(tensor: "t", dtype: .f16, shape: [2, 3], expectedBytes: 12, foundBytes: 8)),
        "'m': tensor 't': F16 [2, 3] needs 12 bytes, data_offsets give 8"
      ),
      (.outputExists(path: "o"), "'o': the output exists already; choose another name or pass --overwrite"),
      (.wrongByteCount(file: "o", tensor: "t", declared: 4, given: 5), "'o': tensor 't': 4 bytes declared, 5 bytes given"),
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

  @Test func everyErrorHasASentenceAndAClass() {
    let fault = SafetensorsFault.tooShort(foundBytes: 1)
    let classes: [(CheckpointError.Class, [CheckpointError])] = [
      (
        .missingInput,
        [
          .notFound(path: "p"), .notAFile(path: "p", found: "f"), .notReadable(path: "p", code: 1), .noTensors(directory: "d", found: []),
          .missingShard(index: "i", shard: "s"),
        ]
      ),
      (
        .badData,
        [
          .emptyFile(path: "p"), .tooLarge(path: "p", limit: 1, found: 2), .malformed(file: "p", fault),
          .pytorch(file: "p", .cycle), .llama2c(file: "p", .version(found: 3)),
          .ambiguous(directory: "d", candidates: ["a", "b"]), .malformedIndex(file: "p", reason: "r"),
          .shardName(index: "i", tensor: "t", shard: "s"), .notInShard(index: "i", tensor: "t", shard: "s"),
          .notInIndex(index: "i", tensor: "t", shard: "s"), .unknownTensor("t", path: "p"),
          .shapeMismatch(tensor: "t", file: "f", expected: [1], found: [2]), .rowsOutside(tensor: "t", file: "f", rows: 1..<2, count: 1),
        ]
      ),
      (
        .cannotCreate,
        [
          .outputExists(path: "p"), .badOutputName(path: "p"), .missingParent(path: "p", parent: "d"), .notWritable(path: "p", code: 1),
          .parentNotADirectory(path: "p", parent: "d", found: "a regular file"),
          .notReplaceable(path: "p", found: "f"), .outputInUse(path: "p", partial: "q"),
          .badDeclaration(file: "f", tensor: "t", reason: "r"),
        ]
      ),
      (.inputOutput, [.system(operation: "read", path: "p", code: 5), .wrongByteCount(file: "f", tensor: "t", declared: 1, given: 2)]),
    ]
    for (expected, errors) in classes {
      for error in errors {
        #expect(error.errorClass == expected)
        #expect(error.description.hasPrefix("'"))
      }
    }
  }

  @Test func namesCannotWriteToTheTerminal() {
    #expect(quoted("a\u{1B}[31mb\n") == #"'a\u{1B}[31mb\u{A}'"#)
    #expect(quoted("\u{202E}x") == #"'\u{202E}x'"#)
    #expect(quoted("größe/重み") == "'größe/重み'")
    #expect(quoted(String(repeating: "x", count: 1_000_000)).count == 163)
  }

  @Test func longShapesAreCut() {
    #expect(shown([1, 2]) == "[1, 2]")
    #expect(shown([Int](repeating: 1, count: 1000)) == "[1, 1, 1, 1, 1, 1, 1, 1, …] of 1000 dimensions")
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
