import DibitKernels
import DibitModel
import DibitModelStore
import DibitQuantization
import DibitTensor

/// A tiny model whose matrices are packed, as `dibit convert` makes them.
func makePackedModel(_ family: String) throws -> (configuration: ModelConfiguration, weights: DecoderWeights) {
  let model = try makeModel(family)
  var weights = model.weights
  let embedding = weights.embedding.index
  weights.updateEach { parameter in
    guard parameter.isMatrix else { return }
    let weight = parameter.weight
    let matrix = Matrix(rows: weight.rows, columns: weight.columns, values: Array(copying: weight.values))
    let grid = Grid(parameter.index == embedding ? .four : .two, group: 64)
    var error = GridQuantization.Error()
    let (codes, scales) = GridQuantization.encode(matrix, grid: grid, error: &error, on: compute)
    parameter.weight = Weight(
      rows: weight.rows, columns: weight.columns, format: .grid(grid), elements: Bytes(SharedBytes(codes)),
      scales: Bytes(SharedBytes(scales)))
  }
  return (model.configuration, weights)
}
