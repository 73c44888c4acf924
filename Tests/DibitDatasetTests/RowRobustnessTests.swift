import Testing

@testable import DibitDataset

/// Any bytes are rows or an error of one line: none traps, and the same bytes give the same.
@Suite struct RowRobustnessTests {
  private static let seeds: [(name: String, bytes: [UInt8])] = [
    ("d.csv", Array("text,label\r\n\"a, \"\"b\"\"\nc\",x\r\nd,\"y;z\"\r\n".utf8)),
    ("d.tsv", [0xEF, 0xBB, 0xBF] + Array("label\ttext\nx\tone\ny\t\"two\tthree\"\n".utf8)),
    ("d.jsonl", Array("{\"text\":\"a\\u00e9\",\"label\":[\"x\",\"y\"]}\n{\"text\":\"b\",\"label\":\"y\"}\n".utf8)),
    ("d.jsonl", Array("[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\",\"weight\":1}]\n".utf8)),
    ("d.csv", utf16("text,label\na\u{1F600},x\nb,y\n", littleEndian: true)),
    ("d", Array("text;label\nM\u{FC};x\nb;y\n".unicodeScalars.map { UInt8($0.value) })),
  ]
  private static let pieces: [[UInt8]] = [
    [0x22], [0x2C], [0x0A], [0x0D], [0x09], [0], [0xFF], [0xFF, 0xFE], [0xD8, 0x00], [0x7B], [0x5B], [0x5D, 0x7D], [0x22, 0x22],
    Array("\"role\":".utf8),
    Array("\\ud800".utf8), Array("1e999".utf8), [0xEF, 0xBB, 0xBF],
  ]

  @Test(arguments: seeds.indices)
  func mutations(_ seed: Int) throws {
    let (name, bytes) = Self.seeds[seed]
    let folder = try TemporaryFolder()
    var state = UInt64(seed + 1)
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    var (accepted, refused) = (0, 0)
    for round in 0..<400 {
      var mutated = bytes
      for _ in 0...random(3) {
        let index = random(mutated.count + 1)
        switch random(4) {
        case 0: mutated.removeSubrange(index..<min(mutated.count, index + random(4)))
        case 1: mutated.insert(contentsOf: Self.pieces[random(Self.pieces.count)], at: index)
        case 2: if index < mutated.count { mutated[index] = UInt8(random(256)) }
        default: mutated.insert(contentsOf: mutated[index...].prefix(random(8)), at: random(mutated.count + 1))
        }
      }
      try folder.write(name, mutated)
      var options = RowOptions()
      (options.toleratesFaults, options.labelSeparator) = (round % 2 == 0, round % 3 == 0 ? ";" : nil)
      options.maximumRowBytes = round % 5 == 0 ? 16 : 4096
      do throws(DatasetError) {
        let data = try Dataset.read(folder.absolute(name), rows: options)
        #expect(!data.train.isEmpty)
        #expect(try Dataset.read(folder.absolute(name), rows: options) == data)
        accepted += 1
      } catch {
        #expect(!error.description.contains("\n") && error.description.utf8.count < 1000, "\(error.description)")
        refused += 1
      }
    }
    #expect(accepted > 20 && refused > 20, "\(accepted) accepted, \(refused) refused")
  }

  @Test("any ends of pieces give the same text", arguments: [1, 2, 3, 7])
  func piecesOfAnySize(_ size: Int) throws {
    let folder = try TemporaryFolder()
    let text = "text,label\r\n\"ä\r\nb\u{1F600}\",x\rc,y\n"
    for (bytes, name) in [(Array(text.utf8), "utf8"), (utf16(text, littleEndian: false), "utf16")] {
      try folder.write(name, bytes)
      var stream = try TextStream.open(folder.absolute(name), pieceBytes: size)
      var read: [UInt8] = []
      while let piece = try stream.next() {
        #expect(!piece.isEmpty)
        read += piece
      }
      #expect(String(decoding: read, as: UTF8.self) == "text,label\n\"ä\nb\u{1F600}\",x\nc,y\n")
    }
  }
}
