@testable import DibitCheckpoint
import DibitFailure
@testable import DibitFiles
import DibitTensor
import Glibc
import Testing

@Suite struct CheckpointErrorTests {
  @Test func sentences() {
    let sentences: [(CheckpointError, String)] = [
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
      (.wrongByteCount(file: "o", tensor: "t", declared: 4, given: 5), "'o': tensor 't': 4 bytes declared, 5 bytes given"),
      (.file(.system(operation: "read", path: "m", code: EIO)), "'m': cannot read: Input/output error"),
    ]
    for (error, sentence) in sentences { #expect(error.description == sentence) }
  }

  @Test func everyErrorHasASentenceAndAKind() {
    let fault = SafetensorsFault.tooShort(foundBytes: 1)
    let kinds: [(FailureKind, [CheckpointError])] = [
      (
        .notFound, [.file(.notFound(path: "p")), .noTensors(directory: "d", found: []), .missingShard(index: "i", shard: "s")]
      ),
      (
        .badData,
        [
          .file(.emptyFile(path: "p")), .malformed(file: "p", fault),
          .pytorch(file: "p", .cycle), .llama2c(file: "p", .version(found: 3)),
          .ambiguous(directory: "d", candidates: ["a", "b"]), .malformedIndex(file: "p", reason: "r"),
          .shardName(index: "i", tensor: "t", shard: "s"), .notInShard(index: "i", tensor: "t", shard: "s"),
          .notInIndex(index: "i", tensor: "t", shard: "s"), .unknownTensor("t", path: "p"),
          .shapeMismatch(tensor: "t", file: "f", expected: [1], found: [2]), .rowsOutside(tensor: "t", file: "f", rows: 1..<2, count: 1),
        ]
      ),
      (
        .cannotCreate, [.file(.outputExists(path: "p")), .badDeclaration(file: "f", tensor: "t", reason: "r")]
      ),
      (
        .inputOutput,
        [.file(.system(operation: "read", path: "p", code: 5)), .wrongByteCount(file: "f", tensor: "t", declared: 1, given: 2)]
      ),
    ]
    for (expected, errors) in kinds {
      for error in errors {
        #expect(error.kind == expected)
        #expect(error.description.hasPrefix("'"))
      }
    }
  }

  @Test func longShapesAreCut() {
    #expect(shown([1, 2]) == "[1, 2]")
    #expect(shown([Int](repeating: 1, count: 1000)) == "[1, 1, 1, 1, 1, 1, 1, 1, …] of 1000 dimensions")
  }
}
