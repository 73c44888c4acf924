internal import BasicContainers
internal import DibitCheckpoint
internal import DibitModel
internal import DibitTensor

/// The tensors of a training checkpoint: each trained tensor under the name of its group, `moment1/model.norm.weight`.
extension TrainedParameters {
  private static let live = "parameters"

  /// Name and shape of all tensors, in the order of the file.
  var declarations: [(name: String, dtype: DType, shape: [Int])] {
    var groups = [Self.live]
    if moment1.areAllocated { groups.append("moment1") }
    if moment2.areAllocated { groups.append("moment2") }
    if average.areAllocated { groups.append("average") }
    if best.areAllocated { groups.append("best") }
    return groups.flatMap { group in
      values.list.entries.map { (name: "\(group)/\($0.name)", dtype: .f32, shape: [$0.rows, $0.columns]) }
    }
  }

  /// Appends all tensors in the order of ``declarations``.
  func write(to writer: inout SafetensorsWriter) throws(CheckpointError) {
    for entry in values.list.entries {
      switch entry.role {
      case .adapterA(let index): try writer.append(floats: values.adapter.a[index].span, as: .f32)
      case .adapterB(let index): try writer.append(floats: values.adapter.b[index].span, as: .f32)
      case .magnitude(let index): try writer.append(floats: values.adapter.magnitudes[index].span, as: .f32)
      case .weight, .logScale:
        try values.model.read(entry.role) { numbers throws(CheckpointError) in try writer.append(floats: numbers, as: .f32) }
      }
    }
    try Self.write(moment1, to: &writer)
    try Self.write(moment2, to: &writer)
    try Self.write(average, to: &writer)
    try Self.write(best, to: &writer)
  }

  private static func write(_ tensors: borrowing TrainableTensors, to writer: inout SafetensorsWriter) throws(CheckpointError) {
    guard tensors.areAllocated else { return }
    for i in 0..<tensors.values.count { try writer.append(floats: tensors.values[i].span, as: .f32) }
  }

  /// Reads all tensors from a checkpoint that has exactly these, in these shapes.
  mutating func read(from file: Checkpoint) throws(CheckpointError) {
    for (name, _, shape) in declarations { _ = try file.tensor(name, shape: shape) }
    let entries = values.list.entries
    try values.forEach { index, numbers throws(CheckpointError) in
      try file.readRows("\(Self.live)/\(entries[index].name)", rows: 0..<entries[index].rows, into: &numbers)
    }
    try Self.read(&moment1, "moment1", file)
    try Self.read(&moment2, "moment2", file)
    try Self.read(&average, "average", file)
    try Self.read(&best, "best", file)
  }

  private static func read(_ tensors: inout TrainableTensors, _ group: String, _ file: Checkpoint) throws(CheckpointError) {
    guard tensors.areAllocated else { return }
    for (index, entry) in tensors.list.entries.enumerated() {
      try file.readRows("\(group)/\(entry.name)", rows: 0..<entry.rows, into: &tensors.values[index])
    }
  }
}
