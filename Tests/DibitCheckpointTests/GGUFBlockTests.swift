@testable import DibitCheckpoint
@testable import DibitFiles
import DibitTensor
import Testing

/// SHA-256 of the floats that gguf-py 0.19.0 makes of 256 random blocks of a type, and where the type keeps its scales.
///
/// The blocks are bytes of SplitMix64 seeded with the type's number, the lowest eight bits of each draw, block by block. Any byte is
/// possible anywhere, except that a scale that would be infinite or NaN gets its bit 0x40 of the upper byte cleared. The floats are those of
/// `gguf.quants.dequantize`, as little-endian F32. Q8_K, Q1_0 and Q2_0, which gguf-py does not read, are tested against their formula.
private let goldens: [(type: GGMLType, scales: [Int], sha256: String)] = [
  (.q4_0, [0], "ff7f01afe533ec7b0c8bf4aafb0822b020a3673b9710a9c7ad48be3dcc1c39f5"),
  (.q4_1, [0, 2], "911707301045c994610b31e3a0449404029af7f336a1e72e5abbed50fc24c460"),
  (.q5_0, [0], "8758366876d634f7f5636fdc278450590059622c62236a48ef68a67f1fe9a7aa"),
  (.q5_1, [0, 2], "003677572f86b3b1e04d4433f999530eed53e7b13c5947ee466a1fc06d1cc5f7"),
  (.q8_0, [0], "a622ac66dcd801f9498cc85d1c734fc626679095efb029666043acd6db23c12b"),
  (.q2K, [80, 82], "61bd8c05a065c4ffbdc138c3278acf1016de15ff433cbb372cf1313dde7b13d4"),
  (.q3K, [108], "008d1eb5a8959da830747f3c4a981f5c811136a72b5a7b9bb4fdd1c0545c1f9c"),
  (.q4K, [0, 2], "012c87eb6d7de0519e8ac6dc002dc08b98d04793ea875697fec4626d2c26ad40"),
  (.q5K, [0, 2], "b9a71c9448567bdee8ad23f13ff4e19e42bf5f39dbb3ccd57f35f5ac4e78c550"),
  (.q6K, [208], "7d8f29f350667f8b30316c7b9f68758fa5d75a46bb954aabd8ef8c74ec1c3a86"),
  (.iq4NL, [0], "ecedd5f893478d88966a885859ac3a336f82354f6e716e047eb3e82abafd97e3"),
  (.iq4XS, [0], "d877f2fbe823b258cde23a30415b47e79d1c33d22a8a766d740334d61c57af5d"),
  (.tq1_0, [52], "212f5a329c1c32e16c6268b3d82f080d97568625fa37bfa8503a6498406c8a8a"),
  (.tq2_0, [64], "98fac0ad654571d91df73925a706bb05b84270e33fa7053bd2075d3d8c19b4dd"),
  (.mxfp4, [], "6a5504c1b40711c8c563156e942422928216652bac2c9d003805c9c2ab731333"),
]

/// Random blocks with finite scales.
func randomBlocks(_ type: GGMLType, scales: [Int], count: Int) -> [UInt8] {
  var rng = SplitMix64(seed: UInt64(type.rawValue))
  var blocks = (0..<count * type.blockBytes).map { _ in UInt8(truncatingIfNeeded: rng.next()) }
  for block in 0..<count {
    for scale in scales where blocks[block * type.blockBytes + scale + 1] & 0x7C == 0x7C {
      blocks[block * type.blockBytes + scale + 1] &= 0xBF
    }
  }
  return blocks
}

/// What the blocks are read as.
func widenedBlocks(_ blocks: [UInt8], _ type: GGMLType) -> [Float] {
  var values = [Float](repeating: .nan, count: blocks.count / type.blockBytes * type.blockSize)
  var span = values.mutableSpan
  GGMLBlocks.widen(bytes(blocks), type, into: &span)
  return values
}

@Suite struct GGUFBlockTests {
  @Test(arguments: goldens.indices)
  func sameBitsAsTheReference(index: Int) {
    let golden = goldens[index]
    let values = widenedBlocks(randomBlocks(golden.type, scales: golden.scales, count: 256), golden.type)
    var hash = SHA256()
    hash.update(values.flatMap { value in (0..<4).map { UInt8(truncatingIfNeeded: value.bitPattern >> (8 * $0)) } })
    #expect(hash.finalize() == golden.sha256, "\(golden.type)")
  }

  @Test func twoBitsInAFlatBlock() {
    let blocks = randomBlocks(.q2_0, scales: [0], count: 16)
    let expected = (0..<16 * 64).map { i -> Float in
      let (block, j) = (i / 64 * 18, i % 64)
      let d = Float(Float16(bitPattern: UInt16(blocks[block]) | UInt16(blocks[block + 1]) << 8))
      return d * Float(Int(blocks[block + 2 + j / 4] >> UInt8(j % 4 * 2) & 3) - 1)
    }
    #expect(widenedBlocks(blocks, .q2_0) == expected)
  }

  @Test func oneBitInAFlatBlock() {
    let blocks = randomBlocks(.q1_0, scales: [0], count: 16)
    let expected = (0..<16 * 128).map { i -> Float in
      let (block, j) = (i / 128 * 18, i % 128)
      let d = Float(Float16(bitPattern: UInt16(blocks[block]) | UInt16(blocks[block + 1]) << 8))
      return blocks[block + 2 + j / 8] >> UInt8(j % 8) & 1 == 1 ? d : -d
    }
    #expect(widenedBlocks(blocks, .q1_0) == expected)
  }

  @Test func signedBytesWithAFloatScale() {
    var block = randomBlocks(.q8K, scales: [], count: 1)
    block.replaceSubrange(0..<4, with: [0, 0, 0x40, 0x3F])  // 0.75
    #expect(widenedBlocks(block, .q8K) == (0..<256).map { 0.75 * Float(Int8(bitPattern: block[4 + $0])) })
  }
}
