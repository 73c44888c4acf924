internal import DibitCheckpoint
internal import DibitFiles
internal import DibitJSON

/// The languages that a model's makers name.
package enum ModelLanguages {
  /// The most bytes of a card that are read.
  private static let limit = 1 << 20

  /// Reads the languages of a model as BCP 47 tags: from the manifest of a conversion, or from the card beside a checkpoint, whose head
  /// (YAML between two lines of `---`) has them under `language` on hubs, or from the metadata of a GGUF file. None where nobody names any, or the files cannot be read.
  package static func read(_ path: String) -> [String] {
    if let file = ggufFile(of: path), let gguf = try? GGUFFile(file.bytes, file: file.path),
      let list = gguf["general.languages"]?.array?.strings
    {
      return list.map { String(decoding: $0, as: UTF8.self) }.filter(isTag)
    }
    let directory = ModelSource.directory(of: path)
    if let manifest = try? readJSON(StoreFile.manifest, in: directory), let list = manifest["languages"]?.array {
      return list.compactMap(\.string)
    }
    let card = directory + "/" + StoreFile.card
    guard isRegularFile(card), let bytes = try? readFile(card, limit: limit) else { return [] }
    return languages(inCard: String(decoding: bytes, as: UTF8.self))
  }

  /// Returns what stands under `language` in the head of a card: one tag, a list in brackets, or a list of lines.
  static func languages(inCard text: String) -> [String] {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
    guard lines.popFirst() == "---" else { return [] }
    var tags: [String] = []
    var isInside = false
    for line in lines {
      if line == "---" { return tags.filter(isTag) }
      if isInside, let item = item(line) {
        tags.append(item)
        continue
      }
      isInside = false
      guard line.hasPrefix("language:") else { continue }
      let value = line.dropFirst("language:".count).trimmed
      if value.isEmpty { isInside = true } else { tags = value.split(whereSeparator: { "[],".contains($0) }).map { unquoted($0.trimmed) } }
    }
    return []
  }

  private static func item(_ line: Substring) -> String? {
    let line = line.trimmed
    return line.hasPrefix("- ") ? unquoted(line.dropFirst(2).trimmed) : nil
  }

  private static func unquoted(_ text: Substring) -> String {
    String(text.trimmingPrefix { "\"'".contains($0) }.prefix { !"\"'".contains($0) })
  }

  /// Letters, digits and hyphens: the form of a tag.
  private static func isTag(_ text: String) -> Bool {
    (2...35).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0 == 0x2D || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) }
  }
}

extension Substring {
  fileprivate var trimmed: Substring {
    var result = self
    while let last = result.last, last.isWhitespace { result.removeLast() }
    return result.drop { $0.isWhitespace }
  }
}
