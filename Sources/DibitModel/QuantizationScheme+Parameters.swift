package import DibitQuantization

extension QuantizationScheme {
  /// How a parameter of `rows` rows is stored that comes from floats such as `source`: the only place that says so. Norms and biases stay F32.
  package func format(of name: ParameterName, rows: Int, source: WeightFormat = .f32) -> WeightFormat {
    rows > 1 ? format(isTable: name.isTable, source: source) : .f32
  }
}
