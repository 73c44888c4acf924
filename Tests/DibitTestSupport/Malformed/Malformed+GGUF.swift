extension MalformedFile {
  private static func gguf(_ description: String, says: String, _ change: (inout GGUFBytes) -> Void) -> MalformedFile {
    var file = GGUFBytes()
    file.pairs = [GGUFBytes.pair("general.architecture", GGUFBytes.string, GGUFBytes.text("llama"))]
    file.tensors = [GGUFBytes.tensor("token_embd.weight")]
    change(&file)
    return MalformedFile("GGUF: " + description, [(name: "model.gguf", bytes: file.bytes)], says: says)
  }

  /// GGUF files with every published fault of its readers.
  static var gguf: [MalformedFile] {
    typealias G = GGUFBytes
    let nested = G.number(UInt32(9)) + G.number(UInt64(1))
    return [
      gguf("version 0", says: "version") { $0.version = 0 },
      gguf("version 1", says: "version") { $0.version = 1 },
      gguf("a version of the future", says: "version") { $0.version = 4 },
      gguf("byte-swapped version", says: "big-endian") { $0.version = 0x0300_0000 },
      gguf("2^61 tensors (CVE-2024-21836)", says: "tensors") { $0.tensorCount = 1 << 61 },
      gguf("-1 tensors", says: "tensors") { $0.tensorCount = .max },
      gguf("2^61 keys (CVE-2024-23605)", says: "key") { $0.pairCount = 1 << 61 },
      gguf("-1 keys", says: "key") { $0.pairCount = .max },
      gguf("string of 2^64 - 1 bytes (CVE-2024-23496)", says: "18446744073709551615") {
        $0.pairs.append(G.pair("a", G.string, G.number(UInt64.max)))
      },
      gguf("string of 2^63 bytes", says: "9223372036854775808") { $0.pairs.append(G.pair("a", G.string, G.number(UInt64(1) << 63))) },
      gguf("string longer than the file (mlx 4213)", says: "4194304") { $0.pairs.append(G.pair("a", G.string, G.number(UInt64(4 << 20)))) },
      gguf("empty key", says: "key") { $0.pairs.append(G.pair("", G.uint32, G.number(UInt32(1)))) },
      gguf("key of 2^64 - 1 bytes", says: "18446744073709551615") { $0.pairs.append(G.number(UInt64.max)) },
      gguf("duplicate key", says: "general.architecture") { $0.pairs.append($0.pairs[0]) },
      gguf("unknown value type", says: "type") { $0.pairs.append(G.pair("a", 13, [0])) },
      gguf("array of 2^61 (CVE-2024-21825)", says: "2305843009213693952") {
        $0.pairs.append(G.pair("a", G.array, G.number(UInt32(4)) + G.number(UInt64(1) << 61)))
      },
      gguf("array of strings without bytes", says: "'a'") {
        $0.pairs.append(G.pair("a", G.array, G.number(UInt32(8)) + G.number(UInt64(1_000_000))))
      },
      gguf("array of an unknown type", says: "type") { $0.pairs.append(G.pair("a", G.array, G.number(UInt32(99)) + G.number(UInt64(1)))) },
      gguf("arrays nested 10,000 deep (gguf-py)", says: "'a'") {
        $0.pairs.append(G.pair("a", G.array, (0..<10_000).flatMap { _ in nested }))
      },
      gguf("alignment 13", says: "alignment") { $0.pairs.append(G.pair("general.alignment", G.uint32, G.number(UInt32(13)))) },
      gguf("alignment 0", says: "alignment") { $0.pairs.append(G.pair("general.alignment", G.uint32, G.number(UInt32(0)))) },
      gguf("alignment 2^31", says: "alignment") { $0.pairs.append(G.pair("general.alignment", G.uint32, G.number(UInt32(1) << 31))) },
      gguf("alignment as text (GHSA-vgg9-87g3-85w8)", says: "alignment") {
        $0.pairs.append(G.pair("general.alignment", G.string, G.text("32")))
      },
      gguf("alignment as INT32", says: "alignment") { $0.pairs.append(G.pair("general.alignment", 5, G.number(Int32(-32)))) },
      gguf("2^32 - 1 dimensions (gguf-tools 25)", says: "dimension") { $0.tensors = [G.tensor("a", [4], count: .max)] },
      gguf("5 dimensions", says: "dimension") { $0.tensors = [G.tensor("a", [1, 1, 1, 1, 1])] },
      gguf("a dimension of 0", says: "dimension") { $0.tensors = [G.tensor("a", [0, 4])] },
      gguf("a negative dimension", says: "dimension") { $0.tensors = [G.tensor("a", [UInt64(bitPattern: -4), 4])] },
      gguf("dimensions whose product wraps (CVE-2024-21802)", says: "'a'") { $0.tensors = [G.tensor("a", [1 << 32, 1 << 32])] },
      gguf("dimensions whose product wraps to 16", says: "'a'") { $0.tensors = [G.tensor("a", [1 << 62, 1 << 2, 1 << 4])] },
      gguf("shape product 2^32 + 4 (mlx 4245)", says: "'a'") { $0.tensors = [G.tensor("a", [4_294_967_300])] },
      gguf("dimensions near 2^31 with blocks (CVE-2026-33298)", says: "'a'") {
        $0.tensors = [G.tensor("a", [2_147_483_648, 2_147_483_647], type: 8)]
      },
      gguf("sizes whose sum wraps (CVE-2025-53630)", says: "'") {
        $0.tensors = (0..<4).map { G.tensor("t\($0)", [1 << 61], offset: UInt64($0) << 61) }
      },
      gguf("size and padding that wrap (CVE-2026-27940)", says: "'a'") { $0.tensors = [G.tensor("a", [(1 << 62) - 1])] },
      gguf("a row that is no multiple of its block", says: "32") { $0.tensors = [G.tensor("a", [33], type: 8)] },
      gguf("unknown tensor type", says: "type") { $0.tensors = [G.tensor("a", type: 199)] },
      gguf("a removed tensor type", says: "type") { $0.tensors = [G.tensor("a", type: 4)] },
      gguf("name of 2^64 - 1 bytes", says: "18446744073709551615") { $0.tensors = [G.number(UInt64.max)] },
      gguf("two tensors of one name", says: "'a'") { $0.tensors = [G.tensor("a"), G.tensor("a", offset: 64)] },
      gguf("offset past the end (CVE-2026-7482)", says: "'a'") { $0.tensors = [G.tensor("a", offset: 1 << 40)] },
      gguf("offset 2^64 - 32", says: "'a'") { $0.tensors = [G.tensor("a", offset: UInt64.max - 31)] },
      gguf("offset that is not aligned", says: "'a'") { $0.tensors = [G.tensor("a", [4], offset: 8)] },
      gguf("overlapping tensors", says: "'b'") { $0.tensors = [G.tensor("a"), G.tensor("b", offset: 32)] },
      gguf("not enough data", says: "'token_embd.weight'") { $0.data = 63 },
      gguf("block_count 0 (CVE-2025-0317)", says: "llama.") {
        $0.pairs.append(G.pair("llama.block_count", G.uint32, G.number(UInt32(0))))
      },
      gguf("block_count 2^24 for one tensor (llama.cpp 25821)", says: "at most as many as the 1 tensors") {
        $0.pairs.append(G.pair("llama.block_count", G.uint32, G.number(UInt32(1) << 24)))
      },
      gguf("block_count 2^31", says: "llama.block_count") {
        $0.pairs.append(G.pair("llama.block_count", G.uint32, G.number(UInt32(1) << 31)))
      },
      gguf("no hyper-parameters", says: "llama.") { _ in },
      gguf("no architecture", says: "general.architecture") { $0.pairs = [] },
      gguf("architecture as a number", says: "general.architecture") {
        $0.pairs = [G.pair("general.architecture", G.uint32, G.number(UInt32(1)))]
      },
      gguf("unknown architecture", says: "mystery") { $0.pairs = [G.pair("general.architecture", G.string, G.text("mystery"))] },
      MalformedFile("GGUF: four bytes (CVE-2024-39720)", [(name: "model.gguf", bytes: Array("GGUF".utf8))], says: "GGUF"),
      MalformedFile("GGUF: header only", [(name: "model.gguf", bytes: Array("GGUF\u{3}\0\0\0".utf8))], says: "model.gguf"),
    ]
  }
}
