import DibitJSON
import DibitCheckpoint
import DibitConversion
import DibitInference
import DibitKernels
import DibitModel
import DibitModelStore
import DibitQuantization
import DibitTensor
import DibitTestSupport
import Testing

let compute = Compute(threads: 2)

/// How tensors are stored, in one line.
func scheme(_ bits: Int, group: Int? = 64, embedding: Int = 4) -> QuantizationScheme {
  var scheme = QuantizationScheme()
  (scheme.bits, scheme.group, scheme.embeddingBits) = (bits, group, embedding)
  return scheme
}

@discardableResult
func convert(
  _ source: String, _ output: String, _ scheme: QuantizationScheme = QuantizationScheme(), overwrite: Bool = false,
  progress: (ConversionProgress) -> Bool = { _ in true }
) throws(ConversionError) -> ConversionReport {
  var options = ConversionOptions()
  (options.scheme, options.overwrite) = (scheme, overwrite)
  return try Converter(source: source, output: output, options: options, on: compute).run(progress: progress)
}

/// The error of a conversion that must fail.
func conversionError(
  _ source: String, _ output: String, overwrite: Bool = false, progress: (ConversionProgress) -> Bool = { _ in true }
) -> ConversionError? {
  do throws(ConversionError) {
    try convert(source, output, overwrite: overwrite, progress: progress)
    return nil
  } catch { return error }
}

/// The floats of a stored tensor, decoded in plain Swift from its published byte order.
func decoded(_ checkpoint: Checkpoint, _ name: String, rows: Int, columns: Int, bits: Int, group: Int?) throws -> [Float] {
  let info = try checkpoint.tensor(name)
  guard info.dtype == .u8 else { return try checkpoint.readVector(name) }
  let codes = try #require(try checkpoint.bytes(name)).array
  let scales = try #require(try checkpoint.bytes(ModelFiles.scalesName(name))).array
  let grid = Grid(try #require(GridLevels(bits: bits)), group: group)
  return gridValues(codes: codes, scales: scales, rows: rows, columns: columns, grid: grid)
}

/// The floats of a weight as the kernels see them: the rows of the identity times its transpose.
func expanded(_ weight: Weight) -> [Float] {
  let ids = (0..<Int32(weight.rows)).map { $0 }
  var rows = Matrix(rows: weight.rows, columns: weight.columns)
  Embedding.forward(ids.span, weight: weight, into: &rows, on: compute)
  return rows.values
}

/// The logits behind a prompt.
func logits(_ model: String) throws -> [Float] {
  let stored = try StoredModel.open(model)
  var session = Session(stored.configuration, weights: stored.weights, adapter: .none(for: stored.weights), on: compute)
  try session.append([5, 80, 200, 17, 9, 263])
  return session.lastLogits
}

/// Byte pairs without a merge, small enough for the fixtures' vocabularies.
func smallTokenizer() -> String {
  let letters = (0..<64).map { ("\(UnicodeScalar(UInt8(0x21 + $0)))", $0) }
  let vocabulary = JSONObject(letters.map { (key: $0.0, value: .integer($0.1)) })
  let split: JSONValue = ["type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true]
  let file: JSONValue = [
    "version": "1.0", "truncation": .null, "padding": .null, "added_tokens": [], "normalizer": .null, "pre_tokenizer": split,
    "post_processor": .null, "decoder": split,
    "model": [
      "type": "BPE", "dropout": .null, "unk_token": .null, "continuing_subword_prefix": .null, "end_of_word_suffix": .null,
      "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": .object(vocabulary), "merges": [],
    ],
  ]
  return file.serialized()
}
