internal import BasicContainers
package import DibitKernels
package import DibitModel
internal import DibitTensor

/// An adapter on the disk and how much of it is wanted.
package struct AdapterPart: Equatable, Sendable {
  /// The adapter's directory.
  package let path: String
  /// The weights that a part may have.
  package static let weights = -1e6...1e6

  /// The factor of its update.
  package let weight: Double

  /// A part of a sum.
  package init(path: String, weight: Double = 1) {
    self.path = path
    self.weight = weight
  }
}

extension StoredAdapter {
  /// One adapter whose update is the weighted sum of those of others, all of `model`: `Σ w s B A`.
  ///
  /// Their ranks are laid side by side: the A stand above each other, the B, multiplied by weight and scale, beside each other, and the
  /// sum's own scale is 1. So nothing is lost but the rounding of B. An adapter alone with weight 1 stays as it is. What magnitudes (DoRA)
  /// multiply by depends on the whole weight, so that they have no sum.
  package static func sum(_ parts: [AdapterPart], for model: StoredModel, on compute: Compute) throws(ModelStoreError) -> Adapter {
    if parts.count == 1, parts[0].weight == 1 { return try open(parts[0].path, for: model, on: compute) }
    var adapters: [(part: AdapterPart, loaded: LoadedAdapter)] = []
    for part in parts { adapters.append((part, LoadedAdapter(try open(part.path, for: model, on: compute)))) }
    return try sum(adapters, for: model)
  }

  /// Adds adapters up that are in memory.
  package static func sum(_ parts: [(part: AdapterPart, loaded: LoadedAdapter)], for model: StoredModel) throws(ModelStoreError) -> Adapter
  {
    var configuration = AdapterConfiguration()
    (configuration.rank, configuration.targets) = (0, LinearKind.allCases)
    var modules = Set<String>()
    for (part, loaded) in parts {
      guard !loaded.adapter.configuration.decomposesWeights else {
        throw .adapterSum("it has magnitudes (use_dora), which cannot be weighted or added to others: export it alone", path: part.path)
      }
      configuration.rank += loaded.rank
      modules.formUnion(loaded.adapter.modules)
    }
    guard configuration.rank <= largestRank else {
      throw .adapterSum("the ranks of all make \(configuration.rank), and \(largestRank) is the largest", path: parts[0].part.path)
    }
    configuration.alpha = Float(configuration.rank)
    configuration.modules = modules
    var sum = Adapter(configuration, for: model.weights)
    var entries: [String: Int] = [:]
    for (entry, module) in sum.modules.enumerated() { entries[module] = entry }
    var first = 0
    for (part, loaded) in parts {
      let factor = Float(part.weight * Double(loaded.adapter.configuration.scale))
      for own in 0..<loaded.adapter.count {
        guard let entry = entries[loaded.adapter.modules[own]] else { continue }
        for row in 0..<loaded.rank { sum.a[entry].copyRow(row, of: loaded.adapter.a[own], to: first + row) }
        for row in 0..<sum.b[entry].rows {
          for column in 0..<loaded.rank { sum.b[entry][row, first + column] = factor * loaded.adapter.b[own][row, column] }
        }
      }
      first += loaded.rank
    }
    return sum
  }
}
