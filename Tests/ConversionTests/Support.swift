import DibitCheckpoint
import DibitConversion
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

/// The floats of a stored tensor, decoded here from the published byte order and without Dibit's kernels: codes low bits first,
/// value = (code - (2^bits - 1) / 2) * scale, one F16 scale for each group of a row.
func decode(_ weights: Checkpoint, _ name: String, columns: Int, bits: Int, group: Int?) throws -> [Float] {
  let info = try weights.tensor(name)
  guard info.dtype == .u8 else { return try weights.readVector(name) }
  let (codes, scales) = (try weights.bytes(name).array, try weights.bytes(ModelFiles.scalesName(name)).array)
  let group = group ?? columns
  let (rowBytes, groups) = (info.shape[1], (columns + group - 1) / group)
  var values: [Float] = []
  for row in 0..<info.shape[0] {
    for column in 0..<columns {
      let at = 2 * (row * groups + column / group)
      let scale = Float(Float16(bitPattern: UInt16(scales[at]) | UInt16(scales[at + 1]) << 8))
      values.append((Float(code(codes, row * rowBytes, column, bits)) - Float((1 << bits) - 1) / 2) * scale)
    }
  }
  return values
}

/// The code of a column. A block of 16 bytes holds 64 codes of 2 bits or 32 of 4; code `c` of a block lies in byte `c % 16`.
func code(_ codes: [UInt8], _ row: Int, _ column: Int, _ bits: Int) -> Int {
  let perBlock = 128 / bits
  let (block, place) = (column / perBlock, column % perBlock)
  return Int(codes[row + block * 16 + place % 16] >> (place / 16 * bits)) & ((1 << bits) - 1)
}
