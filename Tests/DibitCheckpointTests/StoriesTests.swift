import DibitTensor
import Testing

@testable import DibitCheckpoint

/// The real checkpoint beside the package; tests that need it say so and stop when it is absent.
private let stories = "../shared/data/stories260k/hf"

@Suite struct StoriesTests {
  @Test func shardsHoldTheSameBits() throws {
    guard exists(stories) else {
      print("skipped: \(stories) is not there")
      return
    }
    let (whole, sharded) = (try Checkpoint.open(stories), try Checkpoint.open(stories + "/sharded"))
    #expect(whole.filePaths.count == 1 && sharded.filePaths.count == 2)
    #expect(whole.tensorNames.count == 47 && Set(whole.tensorNames) == Set(sharded.tensorNames))
    var elements = 0
    for name in whole.tensorNames {
      let (one, other) = (try #require(whole.info(name)), try #require(sharded.info(name)))
      #expect(one.dtype == other.dtype && one.shape == other.shape)
      #expect(try whole.bytes(name)?.array == sharded.bytes(name)?.array)
      #expect(try whole.readMatrix(name).values.map(\.bitPattern) == sharded.readMatrix(name).values.map(\.bitPattern))
      elements += one.count
      whole.release(name)
    }
    #expect(elements * 4 == 1_040_128)
  }

  @Test func aCopyHoldsTheSameBits() throws {
    guard exists(stories) else {
      print("skipped: \(stories) is not there")
      return
    }
    let scratch = Scratch()
    let whole = try Checkpoint.open(stories)
    var writer = try SafetensorsWriter(
      path: scratch("copy"),
      tensors: whole.tensorNames.map { name in (name: name, dtype: whole.info(name)?.dtype ?? .f32, shape: whole.info(name)?.shape ?? []) },
      metadata: whole.metadata)
    for name in whole.tensorNames {
      let bytes = try #require(try whole.bytes(name))
      try writer.append(bytes.bytes)
    }
    _ = try writer.finalize()
    let copy = try Checkpoint.open(scratch("copy"))
    #expect(copy.tensorNames == whole.tensorNames)
    for name in whole.tensorNames { #expect(try whole.readVector(name) == copy.readVector(name)) }
  }
}
