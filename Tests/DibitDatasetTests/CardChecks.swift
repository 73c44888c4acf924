import FoundationEssentials

/// What the cards of the datasets state: tables of counts, lengths, and that no two texts share much.
enum Card {
  /// The words of a text, by which the cards define shared runs: letters and digits, in lower case.
  static func words(_ text: String) -> [Substring] { text.lowercased().split { !$0.isLetter && !$0.isNumber } }

  /// The first run of words that two of the texts share, with the locations of both; nil if there is none. A text may repeat itself.
  static func sharedRun(of length: Int, in texts: [(location: String, text: String)]) -> String? {
    var locations: [String: String] = [:]
    for (location, text) in texts {
      let words = words(text)
      for start in 0..<max(words.count - length + 1, 0) {
        let run = words[start..<start + length].joined(separator: " ")
        let first = locations[run, default: location]
        if first != location { return "\(first), \(location): \(run)" }
        locations[run] = location
      }
    }
    return nil
  }

  /// Least, median and most words between white space, as the cards' tables have them: half a word is rounded up.
  static func lengths(_ texts: [String]) -> String {
    let counts = texts.map { $0.split(whereSeparator: \.isWhitespace).count }.sorted()
    guard let least = counts.first, let most = counts.last else { return "" }
    let median = (counts[(counts.count - 1) / 2] + counts[counts.count / 2] + 1) / 2
    return "\(least) \(median) \(most)"
  }

  /// The rows of the tables of a card, cell by cell, without commas.
  static func rows(of path: String) throws -> [[String]] {
    String(decoding: try bytes(of: path), as: UTF8.self).split(separator: "\n").filter { $0.hasPrefix("|") }.map { row in
      row.split(separator: "|").map { $0.replacing(",", with: "").split(separator: " ").joined(separator: " ") }
    }
  }

  /// The bytes of a file.
  static func bytes(of path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path, directoryHint: .notDirectory))) }
}
