package import DibitJSON

/// The traces kept of the texts that an adapter learnt from, so that anybody can tell whether a test text was among them: no text can be
/// read from it.
///
/// Of each text a digest (half of its SHA-256) and a sketch: 16 bits of each of 32 minima of hashed runs of three words (Broder, "On the
/// resemblance and containment of documents", 1997; Li and König, "b-bit minwise hashing", 2010), 160 hexadecimal digits in all.
package struct TextSketches: Equatable, Sendable {
  /// The degrees of likeness at which a text is found.
  package enum Match: Equatable, Sendable {
    /// The same text.
    case exact
    /// A text that shares four of five runs of three words, as far as sketches tell.
    case near
  }

  /// One text.
  struct Entry: Hashable, Sendable {
    var digest: SIMD2<UInt64>
    /// All zero for a text without words.
    var sketch: SIMD32<UInt16>
  }

  private(set) var entries: [Entry]

  /// The number of texts.
  package var count: Int { entries.count }

  /// Sketches of `texts`.
  package init(_ texts: some Sequence<String>) {
    var hash = MinHash()
    entries = texts.map { Self.entry($0, &hash) }
  }

  /// Adds the texts of others that are not here yet.
  package mutating func formUnion(_ others: TextSketches) {
    var known = Set(entries)
    for entry in others.entries where known.insert(entry).inserted { entries.append(entry) }
  }

  /// For each of `texts` how it is found among these; nil where it is not.
  ///
  /// Near matches are looked for among at most eight texts for each of eight parts of a sketch, so that the time is proportional to the
  /// number of texts.
  package func matches(of texts: some Sequence<String>) -> [Match?] {
    let digests = Set(entries.map(\.digest))
    var buckets: [Part: [Int32]] = [:]
    for (index, entry) in entries.enumerated() where entry.sketch != .zero {
      for part in 0..<8 {
        let key = Part(entry.sketch, part)
        if buckets[key, default: []].count < Self.maximumCandidates { buckets[key, default: []].append(Int32(truncatingIfNeeded: index)) }
      }
    }
    var hash = MinHash()
    return texts.map { text in
      let entry = Self.entry(text, &hash)
      // Texts without words are alike, but nobody learns from them.
      guard entry.sketch != .zero else { return nil }
      if digests.contains(entry.digest) { return .exact }
      for part in 0..<8 {
        for candidate in buckets[Part(entry.sketch, part)] ?? [] where isNear(entry, entries[Int(candidate)]) { return .near }
      }
      return nil
    }
  }

  /// Minima that agree, of 32, from which on two texts are nearly the same: ``NearDuplicates/threshold``.
  private static let agreement = Int((NearDuplicates.threshold * Double(MinHash.count)).rounded(.up))
  private static let maximumCandidates = 8

  private func isNear(_ a: Entry, _ b: Entry) -> Bool {
    let same = a.sketch .== b.sketch
    var count = 0
    for index in 0..<MinHash.count where same[index] { count += 1 }
    return count >= Self.agreement
  }

  private static func entry(_ text: String, _ hash: inout MinHash) -> Entry {
    var sketch = SIMD32<UInt16>.zero
    if hash.read(text) {
      // Never zero, which means that there are no words.
      for index in 0..<MinHash.count { sketch[index] = UInt16(truncatingIfNeeded: hash[index]) | 1 }
    }
    return Entry(digest: TextDigest(text: text).half, sketch: sketch)
  }

  /// Four minima of a sketch.
  private struct Part: Hashable {
    let part: Int
    let values: UInt64

    init(_ sketch: SIMD32<UInt16>, _ part: Int) {
      self.part = part
      values = (0..<4).reduce(0) { $0 << 16 | UInt64(sketch[part * 4 + $1]) }
    }
  }
}

extension TextSketches {
  /// The version of the JSON form.
  private static let schema = 1

  /// For a file beside the adapter: `{"schema": 1, "texts": ["160 hexadecimal digits", …]}`.
  package var json: JSONValue {
    ["schema": .integer(Self.schema), "texts": .array(entries.map { .string($0.hexadecimal) })]
  }

  /// Reads ``json``; nil for anything else.
  package init?(json: JSONValue) {
    guard json["schema"]?.int == Self.schema, let texts = json["texts"]?.array else { return nil }
    var entries: [Entry] = []
    entries.reserveCapacity(texts.count)
    for text in texts {
      guard let digits = text.string, let entry = Entry(hexadecimal: digits) else { return nil }
      entries.append(entry)
    }
    self.entries = entries
  }
}

extension TextSketches.Entry {
  fileprivate var hexadecimal: String {
    var digits: [UInt8] = []
    digits.reserveCapacity(160)
    func append(_ value: UInt64, _ bits: Int) {
      for shift in stride(from: bits - 4, through: 0, by: -4) {
        let digit = UInt8(truncatingIfNeeded: value >> UInt64(shift) & 0xF)
        digits.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
      }
    }
    append(digest.x, 64)
    append(digest.y, 64)
    for index in 0..<MinHash.count { append(UInt64(sketch[index]), 16) }
    return String(decoding: digits, as: UTF8.self)
  }

  fileprivate init?(hexadecimal text: String) {
    let digits = Array(text.utf8)
    guard digits.count == 160 else { return nil }
    var words = [UInt64](repeating: 0, count: 10)
    for (index, digit) in digits.enumerated() {
      let value: UInt8
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
      default: return nil
      }
      words[index / 16] = words[index / 16] << 4 | UInt64(value)
    }
    var sketch = SIMD32<UInt16>.zero
    for index in 0..<MinHash.count {
      sketch[index] = UInt16(truncatingIfNeeded: words[2 + index / 4] >> UInt64(48 - 16 * (index % 4)))
    }
    self.init(digest: [words[0], words[1]], sketch: sketch)
  }
}
