internal import BasicContainers
internal import DibitCheckpoint
internal import DibitModel
internal import DibitTensor

/// The tensors of a training checkpoint: each trained tensor under the name of its group, `moment1/model.norm.weight`.
extension TrainedParameters {
  /// Name and shape of all tensors, in the order of the file.
  var declarations: [(name: String, dtype: DType, shape: [Int])] {
    var list = Self.declarations("parameters", adapter)
    if trainsWeights {
      list += model.trained.parameters.map {
        (name: "parameters/\(Self.name(of: $0))", dtype: .f32, shape: [$0.weight.rows, $0.weight.columns])
      }
    }
    return list + declarations("moment1", moment1) + declarations("moment2", moment2) + declarations("average", average)
      + declarations("best", best)
  }

  private static func declarations(_ group: String, _ adapter: borrowing Adapter) -> [(name: String, dtype: DType, shape: [Int])] {
    var list: [(name: String, dtype: DType, shape: [Int])] = []
    for i in 0..<adapter.count {
      list.append((name: "\(group)/\(adapter.modules[i]).lora_A", dtype: .f32, shape: [adapter.a[i].rows, adapter.a[i].columns]))
      list.append((name: "\(group)/\(adapter.modules[i]).lora_B", dtype: .f32, shape: [adapter.b[i].rows, adapter.b[i].columns]))
    }
    for i in 0..<adapter.magnitudes.count {
      list.append((name: "\(group)/\(adapter.modules[i]).magnitude", dtype: .f32, shape: [1, adapter.magnitudes[i].columns]))
    }
    return list
  }

  /// A name of its own for each parameter: the parts of fused layers share that of their tensor.
  private static func name(of parameter: Parameter) -> String { "\(parameter.index).\(parameter.name.tensor)" }

  private func declarations(_ group: String, _ set: borrowing Gradients) -> [(name: String, dtype: DType, shape: [Int])] {
    var list = Self.declarations(group, set.adapter)
    for i in 0..<set.weights.count {
      let name = Self.name(of: model.trained.parameters[i])
      list.append((name: "\(group)/\(name)", dtype: .f32, shape: [set.weights[i].rows, set.weights[i].columns]))
    }
    return list
  }

  /// Appends all tensors in the order of ``declarations``.
  func write(to writer: inout SafetensorsWriter) throws(CheckpointError) {
    try Self.write(adapter, to: &writer)
    if trainsWeights { for parameter in model.trained.parameters { try writer.append(floats: parameter.weight.values, as: .f32) } }
    try Self.write(moment1, to: &writer)
    try Self.write(moment2, to: &writer)
    try Self.write(average, to: &writer)
    try Self.write(best, to: &writer)
  }

  private static func write(_ adapter: borrowing Adapter, to writer: inout SafetensorsWriter) throws(CheckpointError) {
    for i in 0..<adapter.count {
      try writer.append(floats: adapter.a[i].span, as: .f32)
      try writer.append(floats: adapter.b[i].span, as: .f32)
    }
    for i in 0..<adapter.magnitudes.count { try writer.append(floats: adapter.magnitudes[i].span, as: .f32) }
  }

  private static func write(_ set: borrowing Gradients, to writer: inout SafetensorsWriter) throws(CheckpointError) {
    try write(set.adapter, to: &writer)
    for i in 0..<set.weights.count { try writer.append(floats: set.weights[i].span, as: .f32) }
  }

  /// Reads all tensors from a checkpoint that has exactly these, in these shapes.
  mutating func read(from file: Checkpoint) throws(CheckpointError) {
    for (name, _, shape) in declarations { _ = try file.tensor(name, shape: shape) }
    try Self.read(&adapter, "parameters", file)
    if trainsWeights {
      var failure: CheckpointError?
      model.updateTrained { weights in
        weights.updateEach { parameter in
          let name = "parameters/" + Self.name(of: parameter)
          let rows = parameter.weight.rows
          parameter.weight.withMutableValues { values in
            do throws(CheckpointError) { try file.readRows(name, rows: 0..<rows, into: &values) } catch { failure = error }
          }
        }
      }
      if let failure { throw failure }
    }
    let names = model.trained.parameters.map(Self.name)
    try Self.read(&moment1, "moment1", names, file)
    try Self.read(&moment2, "moment2", names, file)
    try Self.read(&average, "average", names, file)
    try Self.read(&best, "best", names, file)
  }

  private static func read(_ adapter: inout Adapter, _ group: String, _ file: Checkpoint) throws(CheckpointError) {
    for i in 0..<adapter.count {
      try read("\(group)/\(adapter.modules[i]).lora_A", file, &adapter.a[i])
      try read("\(group)/\(adapter.modules[i]).lora_B", file, &adapter.b[i])
    }
    for i in 0..<adapter.magnitudes.count { try read("\(group)/\(adapter.modules[i]).magnitude", file, &adapter.magnitudes[i]) }
  }

  private static func read(_ set: inout Gradients, _ group: String, _ names: [String], _ file: Checkpoint) throws(CheckpointError) {
    try read(&set.adapter, group, file)
    for i in 0..<set.weights.count { try read("\(group)/\(names[i])", file, &set.weights[i]) }
  }

  private static func read(_ name: String, _ file: Checkpoint, _ matrix: inout Matrix) throws(CheckpointError) {
    try file.readRows(name, rows: 0..<matrix.rows, into: &matrix)
  }
}
