import DibitFiles
import Testing

@Suite struct SHA256Tests {
  static func digest(_ bytes: [UInt8], portable: Bool) -> String {
    var hash = SHA256(portable: portable)
    hash.update(bytes)
    return hash.finalize()
  }

  @Test(
    "the published vectors of FIPS 180-4",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
      ),
      (String(repeating: "a", count: 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
  func vectors(text: String, digest: String) {
    #expect(SHA256.digest(Array(text.utf8)) == digest)
    #expect(Self.digest(Array(text.utf8), portable: true) == digest)
  }

  @Test("feeding in pieces gives the digest of the whole", arguments: [1, 3, 63, 64, 65, 200])
  func pieces(size: Int) {
    let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    var hash = SHA256()
    for start in stride(from: 0, to: bytes.count, by: size) { hash.update(Array(bytes[start..<min(start + size, bytes.count)])) }
    #expect(hash.finalize() == SHA256.digest(bytes))
  }

  @Test("the CPU's instructions and the portable code agree on every length of three blocks")
  func implementations() {
    for count in 0..<192 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 73 &+ count) }
      #expect(Self.digest(bytes, portable: true) == SHA256.digest(bytes), "\(count) bytes")
    }
  }
}
