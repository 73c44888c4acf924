import DibitFiles
import DibitTensor
import DibitTestSupport
import Testing

@Suite struct ProcessMemoryTests {
  @Test func peakGrowsWithWhatIsUsed() throws {
    let before = try #require(ProcessMemory.peak)
    var buffer = Buffer<UInt8>(count: max(64 << 20, before))
    for page in stride(from: 0, to: buffer.count, by: 4096) { buffer[page] = 1 }
    #expect(try #require(ProcessMemory.peak) > buffer.count)
  }

  @Test func aTemporaryDirectoryLivesAsLongAsItsOwner() throws {
    let directory = try StagedDirectory(temporary: "dibit-test-temporary")
    let path = directory.partialPath
    try directory.write("text", to: "file")
    #expect(exists(path + "/file"))
    _ = consume directory
    #expect(!exists(path))
  }
}
