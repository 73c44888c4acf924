package import DibitModel
internal import DibitTensor

extension DecoderWeights {
  /// Bytes of the weights that decoding one token reads: all but the tables, of which it reads a row, unless one is the output head too.
  package var bytesPerToken: Int {
    parameters.reduce(0) { total, parameter in
      let isRow = parameter.role.isTable && parameter.index != output.index
      return total + (isRow ? parameter.weight.byteCount / parameter.weight.rows : parameter.weight.byteCount)
    }
  }
}
