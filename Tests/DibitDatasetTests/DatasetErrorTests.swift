import DibitFiles
import DibitFailure
import DibitDataset
import FoundationEssentials
import Glibc
import Testing

@Suite struct DatasetErrorTests {
  /// Scans and gives the error with the temporary folder's path written as DATA.
  private func sentence(_ folder: TemporaryFolder, _ relative: String = "") -> (text: String, exit: FailureKind)? {
    do throws(DatasetError) {
      _ = try Dataset.scan(folder: relative.isEmpty ? folder.path : folder.absolute(relative))
      return nil
    } catch {
      return (error.description.replacing(folder.path, with: "DATA"), error.kind)
    }
  }

  private func check(_ found: (text: String, exit: FailureKind)?, _ text: String, _ exit: FailureKind) {
    #expect(found?.text == text)
    #expect(found?.exit == exit)
  }

  @Test func missingFolder() throws {
    check(sentence(try TemporaryFolder(), "none"), "'DATA/none' does not exist; check the path", .notFound)
  }

  @Test func fileInsteadOfFolder() throws {
    let text = "'DATA/f' is a file, expected a folder with texts in <folder>/<label>/<file>"
    check(sentence(try TemporaryFolder(["f": "x"]), "f"), text, .notFound)
  }

  @Test func nothingLabelled() throws {
    let tail = "expected <folder>/<label>/<file>"
    check(sentence(try TemporaryFolder()), "folder 'DATA' holds no labelled text, " + tail, .badData)
    let folder = try TemporaryFolder(["1.txt": "one", "a/empty": " ", "b/.hidden": "x"])
    let text =
      "folder 'DATA' holds no labelled text (left out: 1 empty file; 1 hidden file or folder; "
      + "1 file outside of label folders; 2 label folders without text), "
    check(sentence(folder), text + tail, .badData)
  }

  @Test func oneLabelOnly() throws {
    let text =
      "all texts in 'DATA' have the label 'a', expected at least two labels; add a folder for each other label, "
      + "or pass the folder that holds the label folders"
    check(sentence(try TemporaryFolder(["a/1": "one", "a/b/2": "two"])), text, .badData)
    check(sentence(try TemporaryFolder(["train/a/1": "one", "test/a/2": "two"])), text, .badData)
  }

  @Test func mixedLayout() throws {
    let text =
      "folder 'DATA' mixes the split folder 'test' with the label folder 'cats', expected either "
      + "<label>/<file> or train|validation|test/<label>/<file>; move or rename one of them"
    check(sentence(try TemporaryFolder(["cats/1": "one", "dogs/2": "two", "test/cats/3": "three"])), text, .badData)
  }

  @Test func twoFoldersForOneSplit() throws {
    let text = "folder 'DATA' has two sources of the validation split, 'dev' and 'valid', expected one; merge or rename them"
    check(sentence(try TemporaryFolder(["dev/a/1": "one", "valid/b/2": "two", "train/a/3": "x"])), text, .badData)
  }

  @Test(arguments: [("x\ny", "x\\u{A}y"), ("tab\t", "tab\\u{9}"), ("\u{2028}", "\\u{2028}"), ("\u{85}z", "\\u{85}z")])
  func controlCharactersInLabels(label: String, shown: String) throws {
    let text =
      "label folder '\(shown)' in 'DATA/train' has a name with control characters or invalid UTF-8, expected one line of text; rename it"
    check(sentence(try TemporaryFolder(["train/\(label)/1": "one", "train/b/2": "two"])), text, .badData)
  }

  @Test(.enabled(if: getuid() != 0, "root can read everything")) func unreadable() throws {
    let folder = try TemporaryFolder(["a/1": "one", "b/2": "two", "b/closed": "x"])
    try folder.setPermissions("b/closed", 0)
    let data = try Dataset.scan(folder: folder.path)
    #expect(data.report[.unreadable].paths == ["b/closed"])
    #expect(data.report[.unreadable].entries.map(\.detail) == ["permission denied"])
    try folder.setPermissions("a", 0)
    defer { try? folder.setPermissions("a", 0o755) }
    check(
      sentence(folder),
      "all texts in 'DATA' have the label 'b' (left out: 2 files or folders that cannot be read, such as a: permission denied), "
        + "expected at least two labels; add a folder for each other label, or pass the folder that holds the label folders", .badData)
    #expect(throws: DatasetError.unreadableFolder(path: folder.absolute("a"), reason: .noPermission)) {
      try TextFolder.open(path: folder.absolute("a"))
    }
    #expect(throws: DatasetError.unreadableFile(path: folder.absolute("a/1"), reason: .noPermission)) {
      try Dataset.read(folder.absolute("a/1"))
    }
    #expect(throws: DatasetError.unreadableFile(path: folder.absolute("b/closed"), reason: .noPermission)) {
      try TextFolder.open(path: folder.absolute("b/closed"))
    }
  }

  @Test func sentencesOfTheOtherCases() {
    let cases: [(DatasetError, String, FailureKind)] = [
      (
        .unreadableFolder(path: "d", reason: .noPermission),
        "folder 'd' cannot be listed (permission denied); check its permissions", .noPermission
      ),
      (
        .unreadableFile(path: "f", reason: .system(code: EIO)),
        "file 'f' cannot be read (Input/output error)", .inputOutput
      ),
      (.notAFile(path: "f", found: "a link to nothing"), "'f': a file or a folder expected, a link to nothing found", .notFound),
      (
        .notText(path: "f"),
        "file 'f' holds no text, expected UTF-8, UTF-16 with a byte order mark or Windows-1252 without NUL bytes", .badData
      ),
      (
        .notText(path: "-", found: "a PDF document"),
        "standard input holds no text, expected UTF-8, UTF-16 with a byte order mark or Windows-1252 without NUL bytes, found a PDF document",
        .badData
      ),
      (
        .row(file: "-", line: 3, column: nil, fault: .sameColumn("text")),
        "standard input, line 3: a text and a label expected, 'text' asked for as both; name another with \0textColumn\0 or \0labelColumn\0",
        .badData
      ),
      (.noTextFiles(folder: "d"), "folder 'd' holds no files, expected text files in it or in folders below it", .badData),
    ]
    for (error, text, exit) in cases { check((error.description, error.kind), text, exit) }
  }
}
