package import DibitQuantization

extension QuantizationScheme {
  /// Returns the format of a parameter of this name and role that comes from floats such as `source`: the only place that says so. Norms and
  /// biases stay F32.
  package func format(of name: ParameterName, _ role: ParameterRole, source: WeightFormat = .f32) -> WeightFormat {
    if case .recovery = role { return recovery.map { .grid(Grid($0.levels, group: group)) } ?? .f32 }
    return role.isMatrix ? format(of: name.tensor, isTable: role.isTable, source: source) : .f32
  }
}
