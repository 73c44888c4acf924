@testable import DibitCheckpoint
@testable import DibitFiles
import DibitTensor
import DibitTestSupport
import Testing

private let stories = "../shared/data/stories260k/stories260K.bin"

/// A small model: 8 channels, 2 query heads, 1 key head, 12 hidden channels, 2 blocks, 5 tokens, 4 positions.
private let sizes = [8, 12, 2, 2, 1, 5, 4]

private func int32(_ value: Int) -> [UInt8] { Array(littleEndian(UInt64(bitPattern: Int64(value))).prefix(4)) }

/// The tensors in the order of version 0 and of the others; the number of floats of each.
private func parts(_ version: Int, shared: Bool) -> [(name: String, count: Int)] {
  func each(_ name: String, _ count: Int) -> [(name: String, count: Int)] {
    (0..<2).map { (name: "layers.\($0).\(name).weight", count: count) }
  }
  let output = shared ? [] : [(name: "output.weight", count: 40)]
  let attention = each("attention.wq", 64) + each("attention.wk", 32) + each("attention.wv", 32) + each("attention.wo", 64)
  let feedForward = each("feed_forward.w1", 96) + each("feed_forward.w2", 96) + each("feed_forward.w3", 96)
  let (embedding, norm) = ((name: "tok_embeddings.weight", count: 40), (name: "norm.weight", count: 8))
  if version == 0 {
    return [embedding] + each("attention_norm", 8) + attention + each("ffn_norm", 8) + feedForward + [norm]
      + [(name: "cos", count: 8), (name: "sin", count: 8)] + output
  }
  return each("attention_norm", 8) + each("ffn_norm", 8) + [norm, embedding] + attention + feedForward + output
}

/// A file whose floats count up, tensor by tensor; in version 2 with groups of 4.
private func make(_ version: Int, shared: Bool, sizes: [Int] = sizes) -> [UInt8] {
  var bytes: [UInt8] = []
  if version == 0 {
    var sizes = sizes
    if !shared { sizes[5] = -sizes[5] }
    bytes = sizes.flatMap(int32)
  } else {
    bytes = int32(0x616B_3432) + int32(version) + sizes.flatMap(int32) + [shared ? 1 : 0] + (version == 2 ? int32(4) : [])
    bytes += [UInt8](repeating: 0, count: 256 - bytes.count)
  }
  var next = 0
  for part in parts(version, shared: shared) {
    if version == 2, !part.name.contains("norm") {
      bytes += (0..<part.count).map { UInt8(truncatingIfNeeded: $0 - 100) }
      bytes += floatBytes((0..<part.count / 4).map { Float($0) + 0.5 })
    } else {
      bytes += floatBytes((next..<next + part.count).map(Float.init))
      next += part.count
    }
  }
  return bytes
}

private func llamaFault(_ array: [UInt8]) -> Llama2CFault? {
  do throws(Llama2CFault) {
    _ = try Llama2CFile(bytes(array))
    return nil
  } catch { return error }
}

extension Llama2CFile {
  fileprivate func floats(_ index: Int, rows: Range<Int>) -> [Float] {
    let columns = tensors[index].shape[tensors[index].shape.count - 1]
    var values = [Float](repeating: .nan, count: rows.count * columns)
    var span = values.mutableSpan
    readRows(index, rows: rows, into: &span)
    return values
  }
}

@Suite struct Llama2CTests {
  @Test(arguments: [0, 1], [false, true])
  func floats(version: Int, shared: Bool) throws {
    let file = try Llama2CFile(bytes(make(version, shared: shared)))
    #expect(file.parameters.version == version && file.parameters.sharesClassifier == shared && file.parameters.headSize == 4)
    #expect(Llama2CParameters(metadata: file.parameters.metadata) == file.parameters)
    var next = 0
    var named: [String] = []
    for part in parts(version, shared: shared) {
      defer { next += part.count }
      guard part.name.contains(".") else { continue }
      named.append(part.name)
      let index = try #require(file.tensors.firstIndex { $0.name == part.name })
      let tensor = file.tensors[index]
      #expect(tensor.shape.reduce(1, *) == part.count && tensor.scales.isEmpty)
      let rows = tensor.shape.count == 2 ? tensor.shape[0] : 1
      #expect(file.floats(index, rows: 0..<rows) == (next..<next + part.count).map(Float.init))
      #expect(file.floats(index, rows: rows - 1..<rows).last == Float(next + part.count - 1))
      #expect(file.plainBytes(index)?.count == part.count * 4)
    }
    #expect(named == file.tensors.map(\.name))
  }

  @Test func groups() throws {
    let file = try Llama2CFile(bytes(make(2, shared: false)))
    #expect(file.parameters.groupSize == 4 && file.tensors.count == 2 * 9 + 3)
    let index = try #require(file.tensors.firstIndex { $0.name == "layers.1.feed_forward.w2.weight" })
    #expect(file.tensors[index].shape == [8, 12] && file.plainBytes(index) == nil)
    for row in 0..<8 {
      let expected = (row * 12..<row * 12 + 12).map { (at: Int) -> Float in Float(at - 100) * (Float(at / 4) + 0.5) }
      #expect(file.floats(index, rows: row..<row + 1) == expected)
    }
    let norm = try #require(file.tensors.firstIndex { $0.name == "norm.weight" })
    #expect(file.floats(norm, rows: 0..<1) == (32..<40).map(Float.init))
  }

  @Test func headers() {
    func with(_ version: Int, _ offset: Int, _ patch: [UInt8]) -> Llama2CFault? {
      var array = make(version, shared: true)
      array.replaceSubrange(offset..<offset + patch.count, with: patch)
      return llamaFault(array)
    }
    #expect(llamaFault([]) == .tooShort(expectedBytes: 28, foundBytes: 0))
    #expect(llamaFault(Array(make(1, shared: true)[..<255])) == .tooShort(expectedBytes: 256, foundBytes: 255))
    #expect(with(1, 4, int32(3)) == .version(found: 3))
    #expect(with(1, 4, int32(-1)) == .version(found: -1))
    let names = ["dim", "hidden_dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size", "max_seq_len"]
    for (version, begin) in [(0, 0), (1, 8), (2, 8)] {
      for (index, name) in names.enumerated() {
        for wrong in [0, Int(Int32.min), Int(Int32.max)] {
          let offset = begin + index * 4
          guard case .parameter(name: name, offset: offset, _, _) = with(version, offset, int32(wrong)) else {
            Issue.record("version \(version): \(name) \(wrong)")
            continue
          }
        }
      }
    }
    #expect(with(1, 20, int32(3)) == .parameter(name: "n_heads", offset: 20, expected: "whose double divides dim 8", found: 3))
    #expect(with(0, 12, int32(8)) == .parameter(name: "n_heads", offset: 12, expected: "whose double divides dim 8", found: 8))
    #expect(with(1, 24, int32(4)) == .parameter(name: "n_kv_heads", offset: 24, expected: "that divides n_heads 2", found: 4))
    #expect(with(1, 36, [2]) == .sharedClassifier(offset: 36, found: 2))
    #expect(with(1, 37, [1]) == .padding(offset: 37, found: 1))
    #expect(with(2, 41, [9]) == .padding(offset: 41, found: 9))
    for wrong in [0, -4, 3, 8, Int(Int32.max)] {
      #expect(
        with(2, 37, int32(wrong))
          == .parameter(name: "group size", offset: 37, expected: "that divides dim 8 and hidden_dim 12", found: wrong))
    }
    // The largest numbers that pass promise more than 2^54 bytes, and nothing is allocated for them.
    let largest = [1 << 20, 1 << 22, 1 << 12, 1 << 16, 1 << 16, 1 << 24, 1 << 24].flatMap(int32)
    guard case .size(let expected, 28) = llamaFault(largest), expected > 1 << 54 else {
      Issue.record("the size of the largest model")
      return
    }
  }

  @Test(arguments: 0..<3)
  func recognition(version: Int) {
    let array = make(version, shared: version != 0)
    #expect(Llama2CContainer.recognises(bytes(array)))
    for count in 0..<array.count {
      #expect(llamaFault(Array(array[..<count])) != nil)
      // Without a signature, only the exact size tells.
      if version == 0 { #expect(!Llama2CContainer.recognises(bytes(Array(array[..<count])))) }
    }
    #expect(llamaFault(array + [0]) == .size(expectedBytes: array.count, foundBytes: array.count + 1))
    var random = SplitMix64(seed: UInt64(version))
    for _ in 0..<2_000 {
      var mutated = array
      for _ in 0..<3 { mutated[Int(random.next() % 64)] = UInt8(truncatingIfNeeded: random.next() % 7 == 0 ? 0xFF : random.next() % 16) }
      if let file = try? Llama2CFile(bytes(mutated)) {
        for index in file.tensors.indices { #expect(file.floats(index, rows: 0..<1).count == file.tensors[index].shape.last) }
      }
    }
  }

  @Test func otherFilesAreNotTaken() {
    for array in [
      [], [UInt8](repeating: 0, count: 28), [UInt8](repeating: 1, count: 4096), Array("GGUF".utf8) + [UInt8](repeating: 0, count: 100),
      safetensors("{}", data: 0), ZipMaker.torch(.dict([])).make().bytes,
    ] { #expect(!Llama2CContainer.recognises(bytes(array))) }
  }

  @Test func storiesHasTheBitsOfTheHuggingFaceFile() throws {
    guard exists(stories) else {
      print("skipped: \(stories) is not there")
      return
    }
    let mapped = try MappedFile(path: stories)
    #expect(Llama2CContainer.recognises(mapped.bytes))
    let container = try Llama2CContainer(mapped)
    #expect(container.parameters.dimension == 64 && container.parameters.sequenceLength == 512 && container.parameters.sharesClassifier)
    let checkpoint = try Checkpoint(path: stories, format: .llama2c, containers: [container])
    let expected = try Checkpoint.open("../shared/data/stories260k/hf")
    for (name, other) in [
      ("tok_embeddings.weight", "model.embed_tokens.weight"), ("norm.weight", "model.norm.weight"),
      ("layers.4.attention.wo.weight", "model.layers.4.self_attn.o_proj.weight"),
      ("layers.2.feed_forward.w2.weight", "model.layers.2.mlp.down_proj.weight"),
    ] {
      #expect(try checkpoint.bytes(name)?.array == expected.bytes(other)?.array)
      checkpoint.release(name)
      #expect(try checkpoint.readVector(name) == expected.readVector(other))
    }
  }
}
