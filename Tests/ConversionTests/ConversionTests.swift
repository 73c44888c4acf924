import DibitCheckpoint
import DibitConversion
import DibitKernels
import DibitModel
import DibitModelStore
import DibitQuantization
import DibitTensor
import DibitTestSupport
import Testing

@Suite struct ConversionTests {
  static let families = ["llama", "afm7"]
  /// Every scheme that the command line can ask for.
  static let schemes = [2, 4, 8, 16, 32].flatMap { bits in
    ([32, 64, 128, nil] as [Int?]).flatMap { group in [4, 8, 16, 32].map { scheme(bits, group: group, embedding: $0) } }
  }

  @Test("every scheme converts, reloads, and expands to a plain decode of its bytes", arguments: families)
  func everyScheme(family: String) throws {
    let scratch = Scratch()
    let tiny = try TinyCheckpoint.named(family)
    let source = try tiny.write(to: scratch)
    #expect(Self.schemes.count == 80)
    for (index, scheme) in Self.schemes.enumerated() {
      let output = scratch("model\(index)")
      let report = try convert(source, output, scheme)
      let model = try StoredModel.openConverted(output)
      #expect(model.scheme == scheme)
      #expect(model.digest == report.digest)
      try check(model, tiny, scheme, output)
      try checkReport(report, tiny, source, output)
      try scratch.remove("model\(index)")
    }
  }

  private func check(_ model: StoredModel, _ tiny: TinyCheckpoint, _ scheme: QuantizationScheme, _ output: String) throws {
    let stored = try Checkpoint.open(output)
    for parameter in model.weights.parameters {
      let (name, weight) = (parameter.name, parameter.weight)
      let bits = name.tensor.contains("embed") || name.tensor.contains("lm_head") ? scheme.embeddingBits : scheme.bits
      if weight.rows == 1 {
        #expect(try stored.tensor(name.tensor).dtype == .f32)
        #expect(weight.values.indices.map { weight.values[$0] } == tiny[name.tensor].values)
        continue
      }
      let all = tiny[name.tensor].shape[0]
      let whole = try decoded(stored, name.tensor, rows: all, columns: weight.columns, bits: bits, group: scheme.group)
      let rows = name.rows ?? 0..<weight.rows
      let expected = Array(whole[rows.lowerBound * weight.columns..<rows.upperBound * weight.columns])
      #expect(expanded(weight) == expected, "\(name.tensor) with \(scheme)")
      let format: DType = bits <= 8 ? .u8 : bits == 16 ? .bf16 : .f32
      #expect(try stored.tensor(name.tensor).dtype == format)
    }
  }

  private func checkReport(_ report: ConversionReport, _ tiny: TinyCheckpoint, _ source: String, _ output: String) throws {
    let file = try contents(output + "/model.safetensors").count
    let header = try contents(output + "/model.safetensors").prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) } + 8
    let scales = tiny.tensors.count { $0.shape.isEmpty }
    #expect(report.source == source)
    #expect(report.output == output)
    #expect(report.tensors.count == tiny.tensors.count)
    #expect(report.elements == tiny.elements - scales)
    #expect(report.sourceBytes == tiny.elements * 4)
    #expect(report.outputBytes == file)
    #expect(report.tensors.reduce(0) { $0 + $1.bytes } == file - header)
    #expect(report.bitsPerWeight == Double((file - header) * 8) / Double(report.elements))
    for tensor in report.tensors { #expect(tensor.shape == tiny[tensor.name].shape) }
  }

  @Test("signal to noise is what the stored bytes lose", arguments: families)
  func decibels(family: String) throws {
    let scratch = Scratch()
    let tiny = try TinyCheckpoint.named(family)
    let report = try convert(try tiny.write(to: scratch), scratch("model"))
    let stored = try Checkpoint.open(scratch("model"))
    var (signal, noise) = (0.0, 0.0)
    for tensor in report.tensors {
      guard let error = tensor.error else { continue }
      let values = tiny[tensor.name].values
      let bits = tensor.storage.hasPrefix("2 bits") ? 2 : 4
      let rounded = try decoded(stored, tensor.name, rows: tensor.shape[0], columns: tensor.shape[1], bits: bits, group: 64)
      let own = values.reduce(0.0) { $0 + Double($1) * Double($1) }
      let lost = zip(values, rounded).reduce(0.0) { $0 + Double($1.0 - $1.1) * Double($1.0 - $1.1) }
      // The kernel adds squares in another order: relative 1e-6 is far above double rounding and far below any wrong code.
      #expect(abs(error.noise - lost) <= 1e-6 * lost, "\(tensor.name)")
      #expect(abs(error.signal - own) <= 1e-6 * own, "\(tensor.name)")
      (signal, noise) = (signal + error.signal, noise + error.noise)
      // A normal distribution on four even levels loses about 9.25 dB, on sixteen about 20.2; small groups fit a little better.
      #expect(bits == 2 ? (8.5...12).contains(error.decibels) : (19...25).contains(error.decibels), "\(tensor.name): \(error.decibels)")
    }
    let total = try #require(report.decibels)
    let norms = report.tensors.filter { $0.shape.count == 1 }
    #expect(norms.allSatisfy { $0.error == nil && $0.storage == "F32" && !$0.isExact })
    #expect(noise > 0)
    #expect((8.5...25).contains(total))
    let worst = report.worst(3)
    #expect(worst.count == 3)
    let loudest = report.tensors.compactMap(\.error?.decibels).min()
    #expect(worst[0].error?.decibels == loudest)
    #expect(signal > noise)
  }

  @Test("a checkpoint that lies on the grid packs to the same codes and scales", arguments: families, [32, 64, nil] as [Int?])
  func onTheGrid(family: String, group: Int?) throws {
    let scratch = Scratch()
    var tiny = try TinyCheckpoint.named(family)
    try convert(try tiny.write(to: scratch), scratch("first"), scheme(2, group: group))
    let first = try Checkpoint.open(scratch("first"))
    for index in tiny.tensors.indices where tiny.tensors[index].shape.count == 2 {
      let (name, rows, columns) = (tiny.tensors[index].name, tiny.tensors[index].shape[0], tiny.tensors[index].shape[1])
      let bits = name.contains("embed") || name == "lm_head.weight" ? 4 : 2
      tiny.tensors[index].values = try decoded(first, name, rows: rows, columns: columns, bits: bits, group: group)
    }
    let report = try convert(try tiny.write(to: scratch, "again"), scratch("second"), scheme(2, group: group))
    #expect(report.decibels == .infinity)
    for tensor in report.tensors { #expect(tensor.isExact == (tensor.shape.count == 2), "\(tensor.name)") }
    #expect(report.worst(5) == [])
    #expect(try contents(scratch("second/model.safetensors")) == contents(scratch("first/model.safetensors")))
  }

  @Test("32 bits give the source's logits bit for bit", arguments: families)
  func exactCopy(family: String) throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.named(family).write(to: scratch)
    let report = try convert(source, scratch("model"), scheme(32, embedding: 32))
    #expect(report.decibels == nil)
    #expect(try logits(scratch("model")) == logits(source))
    // Rounded weights must differ, or the comparison above would prove nothing.
    try convert(source, scratch("rounded"))
    #expect(try logits(scratch("rounded")) != logits(source))
  }

  @Test("16-bit sources keep their dtype and their bits", arguments: families, [DType.f16, .bf16])
  func halfSources(family: String, dtype: DType) throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.named(family, dtype: dtype).write(to: scratch)
    let report = try convert(source, scratch("same"), scheme(16, embedding: 16))
    let (before, after) = (try Checkpoint.open(source), try Checkpoint.open(scratch("same")))
    for tensor in report.tensors where tensor.shape.count == 2 {
      #expect(try after.tensor(tensor.name).dtype == dtype)
      #expect(try after.bytes(tensor.name)?.array == before.bytes(tensor.name)?.array)
    }
    for tensor in report.tensors where tensor.shape.count == 1 { #expect(try after.tensor(tensor.name).dtype == .f32) }
    #expect(try logits(scratch("same")) == logits(source))
    try convert(source, scratch("packed"))
    #expect(try StoredModel.openConverted(scratch("packed")).weights.count > 0)
  }

  @Test("shards give the bytes of one file", arguments: families)
  func shards(family: String) throws {
    let scratch = Scratch()
    let tiny = try TinyCheckpoint.named(family)
    try convert(try tiny.write(to: scratch, "whole"), scratch("a"))
    try convert(try tiny.write(to: scratch, "parts", shards: 3), scratch("b"))
    #expect(try contents(scratch("b/model.safetensors")) == contents(scratch("a/model.safetensors")))
  }

  @Test("the same input gives the same bytes, whatever the number of threads", arguments: families)
  func sameBytes(family: String) throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.named(family).write(to: scratch)
    let first = try convert(source, scratch("a"))
    let second = try convert(source + "/", scratch("b"))
    let single = try Converter(source: source, output: scratch("c"), options: ConversionOptions(), on: .init(threads: 1)).run()
    let (a, b, c) = (try files(below: scratch("a")), try files(below: scratch("b")), try files(below: scratch("c")))
    #expect(a.keys.sorted() == ["README.md", "config.json", "manifest.json", "model.safetensors", "tokenizer.json"])
    #expect(a == c)
    #expect(a.filter { $0.key != "manifest.json" } == b.filter { $0.key != "manifest.json" })
    #expect(first.digest == second.digest)
    #expect(first.digest == single.digest)
    #expect(first.digest.count == 64)
  }

  @Test func anotherTokenizerIsAnotherModel() throws {
    let scratch = Scratch()
    var tiny = try TinyCheckpoint.llama()
    let first = try convert(try tiny.write(to: scratch, "a"), scratch("ma"))
    tiny.tokenizer += "\n"
    let second = try convert(try tiny.write(to: scratch, "b"), scratch("mb"))
    #expect(first.digest != second.digest)
  }

  @Test func tiedHeadAndDerivedBuffersAreLeftOut() throws {
    let scratch = Scratch()
    var tiny = try TinyCheckpoint.llama(tied: true)
    tiny.tensors.append(TinyTensor("lm_head.weight", [TinyCheckpoint.vocabulary, 64], tiny["model.embed_tokens.weight"].values))
    tiny.tensors.append(TinyTensor("model.layers.0.self_attn.rotary_emb.inv_freq", [8], [Float](repeating: 1, count: 8)))
    let report = try convert(try tiny.write(to: scratch), scratch("model"))
    #expect(!report.tensors.contains { $0.name == "lm_head.weight" || $0.name.hasSuffix("inv_freq") })
  }

  @Test func progressCountsAllSourceBytes() throws {
    let scratch = Scratch()
    var last = (bytes: 0, total: 0)
    var steps = 0
    let report = try convert(try TinyCheckpoint.afm7().write(to: scratch), scratch("model")) { progress in
      guard case .writing(_, let bytes, let total) = progress.stage else { return false }
      #expect(bytes > last.bytes)
      (last, steps) = ((bytes, total), steps + 1)
      return true
    }
    #expect(last.bytes == report.sourceBytes)
    #expect(last.total == report.sourceBytes)
    #expect(steps == report.tensors.count)
  }

  @Test func overwriteReplacesOurDirectory() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    let first = try convert(source, scratch("model"))
    let second = try convert(source, scratch("model"), scheme(4), overwrite: true)
    #expect(first.digest != second.digest)
    #expect(try StoredModel.openConverted(scratch("model")).scheme?.bits == 4)
    #expect(scratch.names == ["model", "source"])
  }
}
