import DibitFailure
import DibitCheckpoint
import DibitJSON
import DibitJinja
import DibitKernels
import DibitModelStore
import DibitTestSupport
import DibitTokenizer
import Testing

/// Every malformed file gives an error of one line that names the file and the fault; none traps, hangs or is accepted.
@Suite struct MalformedTests {
  @Test func thereAreManyAndTheyDiffer() {
    let names = MalformedFile.all.map(\.description)
    #expect(Set(names).count == names.count)
    #expect(names.count == 365)
  }

  @Test(arguments: MalformedFile.all)
  func isRefused(_ file: MalformedFile) throws {
    let scratch = Scratch()
    for (name, bytes) in file.files { try scratch.write(bytes, to: name) }
    if file.reader == .adapter { for (name, bytes) in MalformedFile.hostModel { try scratch.write(bytes, to: name) } }
    let path = file.files.count == 1 ? scratch(file.files[0].name) : scratch.path
    let error = Self.error(opening: path, file.reader, host: scratch("host"))
    let message = try #require(error?.description, "\(file) was accepted")
    #expect(message.contains(file.says), "\(file): \(message)")
    #expect(message.contains(scratch.path), "\(file): \(message)")
    #expect(!message.contains("\n") && message.utf8.count < 1000, "\(file): \(message)")
    #expect(error?.kind == .badData || error?.kind == .notFound)
  }

  private static func error(opening path: String, _ reader: MalformedFile.Reader, host: String) -> ModelStoreError? {
    do throws(ModelStoreError) {
      switch reader {
      case .model: _ = try ModelSource.open(path).weights()
      case .tokenizer: _ = try TokenizerSource.open(path)
      case .adapter: _ = try AdapterSource.open(path).adapter(for: try ModelSource.open(host).weights(), on: Compute(threads: 1))
      case .chat:
        guard let template = try ChatSource.open(path).template else { return nil }
        do throws(JinjaError) { _ = try template.render([["role": "user", "content": "Hello"]]) } catch {
          return .chatTemplate(error.description, path: path)
        }
      }
      return nil
    } catch { return error }
  }
}
