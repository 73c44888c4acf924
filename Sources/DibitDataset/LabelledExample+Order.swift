internal import DibitFiles

extension [LabelledExample] {
  /// The indices of the examples in an order that follows from texts and labels alone, whatever the files are called.
  ///
  /// Only examples with the same text and the same labels are told apart by their paths.
  package var orderOfTexts: [Int] {
    let digests = map(\.digest.hexadecimal)
    return indices.sorted { left, right in
      if digests[left] != digests[right] { return digests[left].lexicographicallyPrecedes(digests[right]) }
      if !self[left].labels.hasSameBytes(as: self[right].labels) {
        return self[left].labels.lexicographicallyPrecedes(self[right].labels) { $0.precedesInBytes($1) }
      }
      if !self[left].path.hasSameBytes(as: self[right].path) { return self[left].path.precedesInBytes(self[right].path) }
      return self[left].line < self[right].line
    }
  }

  /// SHA-256 of texts and labels in the order of ``orderOfTexts``: the same whatever the files are called.
  package var digestOfTexts: String {
    var hash = SHA256()
    for index in orderOfTexts {
      var record = self[index].digest.hexadecimal
      for label in self[index].labels { record += [0] + Array<UInt8>(label.utf8) }
      hash.update(record + [0x0A])
    }
    return hash.finalize()
  }

  /// The labels of all examples, each once, in the order of their UTF-8 bytes.
  package var distinctLabels: [String] { flatMap(\.labels).distinctByBytes() }

  /// Parts to train on and to validate with, as ``Dataset/splitAutomatically(seed:)`` draws them; both keep the order of the examples.
  package func splitForTraining(seed: UInt64) -> (training: [LabelledExample], validation: [LabelledExample]) {
    let size = Dataset.automaticValidationSize(trainingCount: count)
    guard size > 0 else { return (self, []) }
    let drawn = StratifiedDraw(seed: seed).indices(of: map { .labelled($0) }, size: size)
    return (indices.filter { !drawn.contains($0) }.map { self[$0] }, indices.filter { drawn.contains($0) }.map { self[$0] })
  }
}
