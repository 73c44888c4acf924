internal import BasicContainers
internal import DibitCheckpoint
internal import DibitModel
internal import DibitTensor

/// Compares gradients with those of a reference, tensor by tensor of the checkpoint.
struct GradientComparison {
  private let reference: Reference

  init(_ reference: Reference) { self.reference = reference }

  /// The gradients of all parameters. A tensor of the checkpoint may hold several parameters, each in some of its rows.
  func ofWeights(_ names: [String], _ gradients: borrowing TrainableTensors, _ weights: DecoderWeights) throws(VerificationError)
    -> [VerificationReport.Tensor]
  {
    var parts: [String: [Parameter]] = [:]
    for parameter in weights.parameters {
      for name in [parameter.name.tensor] + parameter.name.alternatives { parts[name, default: []].append(parameter) }
    }
    var result: [VerificationReport.Tensor] = []
    for name in names {
      guard let parameters = parts[name] else { throw .unknownParameter(tensor: name, reference: reference.path) }
      var found: [Float] = []
      for parameter in parameters.sorted(by: { ($0.name.rows?.lowerBound ?? 0) < ($1.name.rows?.lowerBound ?? 0) }) {
        let (rows, columns) = (parameter.weight.rows, parameter.weight.columns)
        found += parameter.name.layout.toCheckpoint(
          gradients.values[gradients.list.weight(parameter.index) ?? 0].values, rows: rows, columns: columns)
      }
      result.append(try compare(name, found, "grad." + name))
    }
    return result
  }

  /// The gradients of an adapter's matrices: `<module>.A` and `<module>.B`.
  func ofAdapter(_ names: [String], _ gradients: borrowing TrainableTensors, _ layout: AdapterLayout) throws(VerificationError)
    -> [VerificationReport.Tensor]
  {
    var result: [VerificationReport.Tensor] = []
    for name in names {
      let (module, matrix) = (name.dropLast(2), name.suffix(2))
      guard matrix == ".A" || matrix == ".B", let entry = layout.modules.firstIndex(where: { $0 == module }) else {
        throw .unknownParameter(tensor: "lora_grad." + name, reference: reference.path)
      }
      let found =
        matrix == ".A"
        ? gradients.values[gradients.list.a(entry)].values : layout.checkpointB(entry, gradients.values[gradients.list.b(entry)])
      result.append(try compare(name, found, "lora_grad." + name))
    }
    return result
  }

  private func compare(_ name: String, _ found: [Float], _ tensor: String) throws(VerificationError) -> VerificationReport.Tensor {
    let expected = try reference.values(tensor)
    guard expected.count == found.count else {
      let shape = reference.checkpoint.info(tensor)?.shape ?? []
      throw .shape(tensor: tensor, reference: reference.path, expected: "of \(found.count) elements", found: shape)
    }
    return VerificationReport.Tensor(name: name, relativeError: Distance.relative(found, expected))
  }
}
