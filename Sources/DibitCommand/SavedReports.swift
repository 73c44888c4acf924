internal import DibitCheckpoint
internal import DibitFailure
internal import DibitFiles
internal import DibitReport

/// Saved reports of files and of folders full of them; those that cannot be read stop no other.
struct SavedReports {
  private(set) var reports: [SavedReport] = []
  private(set) var faults: [(file: String, failure: Failure)] = []

  /// Larger files are no reports.
  private static let largestFile = 256 << 20

  /// Reads files, and of folders every file whose name ends in .json, in the order of names.
  init(_ paths: [String]) {
    for path in paths {
      guard isDirectory(path) else {
        read(path)
        continue
      }
      let folder = path.hasSuffix("/") ? path : path + "/"
      do throws(FileError) {
        let names = try directoryNames(path).filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }
        if names.isEmpty {
          fail(path, Failure(.missingInput, "\(quoted(path)): saved reports expected in this folder, no .json file found"))
        }
        for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) { read(folder + name) }
      } catch { fail(path, Failure(of: error)) }
    }
  }

  private mutating func read(_ path: String) {
    do throws(FileError) {
      let bytes = try readFile(path, limit: Self.largestFile)
      do throws(ReportError) { reports.append(SavedReport(file: path, report: try EvaluationReport(parsing: bytes))) } catch {
        fail(path, Failure(.badData, "\(quoted(path)): \(Advice.sentence(of: error))"))
      }
    } catch { fail(path, Failure(of: error)) }
  }

  private mutating func fail(_ path: String, _ failure: Failure) { faults.append((path, failure)) }
}
