import FoundationEssentials
import Glibc
import Testing

@testable import DibitDataset

private let banking = projectRoot + "/../shared/data/banking77/banking_data"

/// Folders of files of rows.
@Suite struct RowFolderTests {
  private let row = { (text: String, label: String) in "{\"text\":\"\(text)\",\"label\":\"\(label)\"}\n" }

  @Test func splitsByName() throws {
    let folder = try TemporaryFolder([
      "train.jsonl": row("one", "a") + row("two", "b"), "valid.csv": "text,label\nthree,a\n", "Test.tsv": "text\tlabel\none\ta\nfour\tc\n",
      "README.md": "text", "extra.csv": "text,label\nx,y\n", ".hidden.csv": "",
    ])
    let data = try Dataset.read(folder.path)
    #expect(data.train.map(\.location) == ["train.jsonl:1", "train.jsonl:2"])
    #expect(data.validation.map(\.location) == ["valid.csv:2"])
    #expect(data.test.map(\.location) == ["Test.tsv:2", "Test.tsv:3"])
    #expect(data.report[.leakage].entries.map(\.detail) == ["same text as 'train.jsonl:1'"])
    #expect(data.report[.untrainedLabel].paths == ["c"])
    #expect(data.report[.loose].paths == ["README.md", "extra.csv"])
    #expect(data.report[.hidden].count == 1)
  }

  @Test func filesWithoutSplitsAreForTraining() throws {
    let folder = try TemporaryFolder(["b.jsonl": row("two", "b"), "a.jsonl": row("one", "a") + row("two", "a"), "notes.json": "{}"])
    let data = try Dataset.read(folder.path)
    #expect(data.train.map(\.location) == ["a.jsonl:1", "a.jsonl:2"])
    #expect(data.train.map(\.labels) == [["a"], ["a", "b"]])
    #expect(data.report[.multipleLabels].paths == ["b.jsonl:1"])
    #expect(data.report[.loose].paths == ["notes.json"])
  }

  @Test func numberedPartsAreOneSplit() throws {
    let folder = try TemporaryFolder([
      "train-00001-of-00002.csv": "text,label\nb,y\n", "train-00000-of-00002.csv": "text,label\na,x\n", "test.csv": "text,label\nc,x\n",
    ])
    let data = try Dataset.read(folder.path)
    #expect(data.train.map(\.text) == ["a", "b"])
    #expect(data.test.count == 1)
  }

  @Test func whatIsNotClearIsRefused() throws {
    func message(_ texts: KeyValuePairs<String, String>) throws -> String? {
      let folder = try TemporaryFolder(texts)
      do throws(DatasetError) {
        _ = try Dataset.read(folder.path)
        return nil
      } catch { return error.description.replacing(folder.path, with: "DATA") }
    }
    #expect(
      try message(["train.csv": "text,label\na,b\n", "train.jsonl": ""])
        == "folder 'DATA' has two sources of the train split, 'train.csv' and 'train.jsonl', expected one; merge or rename them")
    #expect(
      try message(["dev.csv": "text,label\na,b\n", "valid.csv": ""])
        == "folder 'DATA' has two sources of the validation split, 'dev.csv' and 'valid.csv', expected one; merge or rename them")
    #expect(
      try message(["test.csv": "text,label\na,b\n", "test-00000-of-00001.csv": ""])?.contains("two sources of the test split") == true)
    #expect(
      try message(["test-0-of-2.csv": "text,label\na,b\n", "test-1-of-3.csv": ""])?.contains("two sources of the test split") == true)
    #expect(
      try message(["train.csv": "text,label\na,b\n", "sport/1.txt": "x"])
        == "'DATA': files of rows or folders expected, the file 'train.csv' and the folder 'sport' found; move one of them")
    #expect(try message(["a.csv": "text,label\na,b\n", "sport/1.txt": "x", "news/1.txt": "y"]) == nil, "a folder of labels beside a table")
    #expect(try message(["a.csv": "text,label\na,b\nc,d\n", "b.jsonl": "{}"])?.hasPrefix("'DATA/b.jsonl', line 1: ") == true)
  }

  @Test func theDigestIsThatOfTheData() throws {
    let text = "text,label\na,x\nb,y\n"
    let digest = try read(text, as: "d.csv").digest
    #expect(try read(text, as: "d.csv").digest == digest)
    #expect(try read("text,label\r\n\"a\",x\r\nb,\"y\"\r\n", as: "d.csv").digest == digest, "quotes and line ends are no data")
    #expect(try read("text,label\na, x\nb,y \n", as: "d.csv").digest == digest, "nor are spaces around labels")
    for other in ["text,label\na,x\nb,z\n", "text,label\na,x\nc,y\n", "text,label\n\na,x\nb,y\n"] {
      #expect(try read(other, as: "d.csv").digest != digest)
    }
  }

  @Test func systemErrors() throws {
    let folder = try TemporaryFolder()
    #expect(throws: DatasetError.missing(path: folder.absolute("x.csv"))) { try Dataset.read(folder.absolute("x.csv")) }
    #expect(throws: DatasetError.noLabelledText(folder: folder.path, skipped: "")) { try Dataset.read(folder.path) }
    try folder.write("x.parquet", Array("PAR1".utf8) + [0x15, 0, 0x15, 2])
    #expect(throws: DatasetError.parquet(path: folder.absolute("x.parquet"))) { try Dataset.read(folder.absolute("x.parquet")) }
    let special = "a device, pipe or socket"
    #expect(throws: DatasetError.notAFile(path: "/dev/null", found: special)) { try Dataset.read("/dev/null") }
    #expect(throws: DatasetError.notAFile(path: "/dev/null", found: special)) { try TextFolder.open(path: "/dev/null") }
    let link = folder.absolute("link")
    try folder.link("link", to: "nowhere.csv")
    #expect(throws: DatasetError.notAFile(path: link, found: "a link to nothing")) { try Dataset.read(link) }
    #expect(throws: DatasetError.notAFile(path: link, found: "a link to nothing")) { try TextFolder.open(path: link) }
    let pipe = folder.absolute("pipe")
    // SAFETY: Swift passes a terminated copy of the path.
    let made = unsafe mkfifo(pipe, 0o600)
    #expect(made == 0)
    #expect(throws: DatasetError.notAFile(path: pipe, found: special)) { try Dataset.read(pipe) }
    let faults = TextInputs([link, pipe]).map { input in if case .failure(let error) = input.content { "\(error)" } else { "" } }
    #expect(
      faults == [
        "'\(link)': a file or a folder expected, a link to nothing found",
        "'\(pipe)': a file or a folder expected, a device, pipe or socket found",
      ])
  }

  /// The 77 intents of a bank's customers.
  @Test(.enabled(if: FileManager.default.fileExists(atPath: banking), "no ../shared/data/banking77 on this machine"))
  func banking77() throws {
    var data = try Dataset.read(banking)
    // What Python's csv module finds in the two files.
    #expect(data.train.count == 10_003 && data.test.count == 3_080 && data.labels.count == 77)
    #expect(data.report.kinds == [.loose])
    #expect(data.train[1].text == "What can I do if my card still hasn't arrived after 2 weeks?")
    #expect(data.train.last?.labels == ["country_support"])
    #expect(data.splitAutomatically(seed: 0) == SplitSummary(train: 9_503, validation: 500, test: 3_080, automatic: [.validation]))
    #expect(Set(data.train.flatMap(\.labels)).count == 77)
  }
}
