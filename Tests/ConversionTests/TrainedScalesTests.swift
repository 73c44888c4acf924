import DibitCheckpoint
import DibitConversion
import DibitJSON
import DibitKernels
import DibitTensor
import DibitTestSupport
import Testing

/// Checkpoints whose 2-bit scales were trained: float weights with `weight_clip_val` beside them.
@Suite struct TrainedScalesTests {
  /// A llama whose linear layers have a clipping value for each row, all of `dtype`.
  private func checkpoint(dtype: DType, clip: (Int) -> Float) throws -> TinyCheckpoint {
    var tiny = try TinyCheckpoint.llama(dtype: dtype)
    tiny.configuration["w_bits"] = 2
    for tensor in tiny.tensors where tensor.name.contains("_proj") {
      let rows = tensor.shape[0]
      tiny.tensors.append(TinyTensor(tensor.name + "_clip_val", [rows, 1], (0..<rows).map(clip), dtype: dtype))
    }
    return tiny
  }

  private static func rounded(_ value: Float, _ dtype: DType) -> Float {
    switch dtype {
    case .bf16: Float(BFloat16(value))
    case .f16: Float(Float16(value))
    default: value
    }
  }

  /// The rule as its paper writes it, with the roundings of tensors of `dtype`; levels times half the clipping value.
  private static func meant(_ weight: Float, _ clip: Float, _ dtype: DType) -> Float {
    let ratio = rounded(weight / clip, dtype)
    let doubled = rounded(2 * (ratio > 0.99 ? 0.99 : ratio < -0.99 ? -0.99 : ratio) - 0.5, dtype)
    return (doubled.rounded(.toNearestOrEven) + 0.5) * clip / 2
  }

  @Test("codes and scales are those of training, bit for bit", arguments: [DType.f32, .f16, .bf16], [32, 64, nil] as [Int?])
  func exact(dtype: DType, group: Int?) throws {
    let scratch = Scratch()
    // Seven bits of fraction: exact in each dtype, and half of it in F16.
    let tiny = try checkpoint(dtype: dtype) { 0.25 + Float($0 % 64) / 256 }
    let report = try convert(try tiny.write(to: scratch), scratch("model"), scheme(2, group: group))
    let (source, stored) = (try Checkpoint.open(scratch("source")), try Checkpoint.open(scratch("model")))
    var seen = 0
    for tensor in report.tensors where tensor.name.contains("_proj") {
      let (columns, rows) = (tensor.shape[1], tensor.shape[0])
      let weights = try source.readVector(tensor.name)
      let expected = weights.indices.map { Self.meant(weights[$0], 0.25 + Float($0 / columns % 64) / 256, dtype) }
      #expect(
        try decoded(stored, tensor.name, rows: tensor.shape[0], columns: columns, bits: 2, group: group) == expected, "\(tensor.name)")
      #expect(tensor.isExact && tensor.trainedScales == rows && tensor.roundedScales == 0, "\(tensor.name)")
      seen += 1
    }
    #expect(seen == 14)
    #expect(report.tensors.allSatisfy { !$0.name.hasSuffix("_clip_val") })
    #expect(report.json["tensors"]?.array?.contains { $0["trained_scales"]?.int == 64 } == true)
  }

  @Test func aScaleThatIsNoHalfIsRoundedAndReported() throws {
    let scratch = Scratch()
    let tiny = try checkpoint(dtype: .f32) { $0 == 5 ? 0.3 : 0.25 }
    let report = try convert(try tiny.write(to: scratch), scratch("model"))
    let stored = try Checkpoint.open(scratch("model"))
    for tensor in report.tensors where tensor.name.contains("_proj") {
      #expect(!tensor.isExact && tensor.roundedScales == 1)
      let columns = tensor.shape[1]
      let values = try decoded(stored, tensor.name, rows: tensor.shape[0], columns: columns, bits: 2, group: 64)
      let weights = tiny[tensor.name].values
      let meant = weights.indices.map { Self.meant(weights[$0], $0 / columns == 5 ? 0.3 : 0.25, .f32) }
      for index in values.indices where index / columns != 5 { #expect(values[index] == meant[index]) }
      let scale = Float(Float16(Float(0.15)))
      for index in 5 * columns..<6 * columns { #expect(values[index] == (meant[index] / 0.15).rounded(toLevel: scale)) }
      let lost = zip(values, meant).reduce(0.0) { $0 + Double($1.0 - $1.1) * Double($1.0 - $1.1) }
      // The test's products are rounded to floats: an error of 2^-24 beside one of about 2^-13.
      #expect(abs((tensor.error?.noise ?? 0) - lost) <= 0x1p-8 * lost)
    }
  }

  @Test func otherBitsAreRefused() throws {
    let scratch = Scratch()
    var tiny = try checkpoint(dtype: .f32) { _ in 0.25 }
    let source = try tiny.write(to: scratch)
    let name = "model.layers.0.self_attn.q_proj.weight_clip_val"
    #expect(throws: ConversionError.trainedScales(tensor: name, found: "4 bits")) { try convert(source, scratch("a"), scheme(4)) }
    #expect(throws: ConversionError.trainedScales(tensor: name, found: "16 bits")) { try convert(source, scratch("a"), scheme(16)) }
    tiny.configuration["w_bits"] = 3
    let other = try tiny.write(to: scratch, "other")
    #expect(
      conversionError(other, scratch("a"))?.description
        == "config.json: 'w_bits': tensor '\(name)' holds trained scales, of which those for 2 bits are supported; found 3")
    tiny.configuration["w_bits"] = 2
    tiny[name].shape = [1, 64]
    let wrong = try tiny.write(to: scratch, "wrong")
    #expect(conversionError(wrong, scratch("a"))?.description.hasSuffix("shape [64, 1] expected, [1, 64] found") == true)
    tiny[name].shape = [64, 1]
    tiny[name].values[3] = .infinity
    let infinite = try tiny.write(to: scratch, "infinite")
    #expect(conversionError(infinite, scratch("a")) == .notFinite(tensor: name, row: 3, column: 0, value: "inf"))
  }

  @Test func aWeightThatIsNoNumberIsFound() throws {
    let scratch = Scratch()
    var tiny = try checkpoint(dtype: .f32) { _ in 0.25 }
    let name = "model.layers.1.mlp.up_proj.weight"
    tiny[name].values[64 * 7 + 2] = .infinity
    #expect(
      conversionError(try tiny.write(to: scratch), scratch("a")) == .notFinite(tensor: name, row: 7, column: 2, value: "inf"))
  }
}

extension Float {
  /// The nearest of -3/2, -1/2, 1/2 and 3/2, times `scale`.
  fileprivate func rounded(toLevel scale: Float) -> Float { ((self - 0.5).rounded() + 0.5) * scale }
}
