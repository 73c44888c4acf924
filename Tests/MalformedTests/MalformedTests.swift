import DibitCheckpoint
import DibitModelStore
import DibitTestSupport
import Testing

/// Every malformed file gives an error of one line that names the file and the fault; none traps, hangs or is accepted.
@Suite struct MalformedTests {
  @Test func thereAreManyAndTheyDiffer() {
    let names = MalformedFile.all.map(\.description)
    #expect(Set(names).count == names.count)
    #expect(names.count >= 90)
  }

  @Test(arguments: MalformedFile.all)
  func isRefused(_ file: MalformedFile) throws {
    let scratch = Scratch()
    for (name, bytes) in file.files { try scratch.write(bytes, to: name) }
    let path = file.files.count == 1 ? scratch(file.files[0].name) : scratch.path
    let error = Self.error(opening: path, file.reader)
    let message = try #require(error?.description, "\(file) was accepted")
    #expect(message.contains(file.says), "\(file): \(message)")
    #expect(message.contains(scratch.path), "\(file): \(message)")
    #expect(!message.contains("\n") && message.utf8.count < 1000, "\(file): \(message)")
    #expect(error?.errorClass == .badData || error?.errorClass == .missingInput)
  }

  private static func error(opening path: String, _ reader: MalformedFile.Reader) -> ModelStoreError? {
    do throws(ModelStoreError) {
      switch reader {
      case .model: _ = try ModelSource.open(path).weights()
      case .tokenizer: _ = try TokenizerSource.open(path)
      case .adapter: break
      }
      return nil
    } catch { return error }
  }
}
