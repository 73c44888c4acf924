package import DibitJSON
internal import DibitModelStore
internal import DibitQuantization

/// The bits of a tensor, chosen within a size, and the reason.
package struct BitChoice: Equatable, Sendable {
  /// The tensor's name.
  package let name: String
  /// The bits that it gets.
  package let bits: Int
  /// As few bits as it may have.
  package let leastBits: Int
  /// The divergence of the model's predictions where this tensor alone is rounded to those, in nats for each token.
  package let leastDivergence: Double
  /// The same with the bits that it gets.
  package let divergence: Double
}

extension BitChoice {
  /// The choice as reports have it.
  package var json: JSONValue {
    [
      "name": .string(name), "bits": .integer(bits), "kl_divergence": .number(divergence),
      "least_bits": .integer(leastBits), "least_kl_divergence": .number(leastDivergence),
    ]
  }

  /// Reads that; nil where something is missing.
  init?(json: JSONValue) {
    guard let name = json["name"]?.string, let bits = json["bits"]?.int, let leastBits = json["least_bits"]?.int,
      let leastDivergence = json["least_kl_divergence"]?.double, let divergence = json["kl_divergence"]?.double
    else { return nil }
    self.init(name: name, bits: bits, leastBits: leastBits, leastDivergence: leastDivergence, divergence: divergence)
  }
}

/// Chooses the bits of each tensor of a model that must not exceed a size.
///
/// The divergences of single tensors are taken to add up. Bits go where they save most of it for each byte, until no more fit: the solution
/// of the knapsack problem but for its last items.
package struct BitAllocation: Sendable {
  /// A tensor and what it may become, the smallest first.
  package struct Candidate: Sendable {
    /// The tensor's name.
    package let name: String
    /// Bits, the bytes that they take, and the divergence that is left.
    package let choices: [(bits: Int, bytes: Int, divergence: Double)]

    /// A tensor that may become these.
    package init(name: String, choices: [(bits: Int, bytes: Int, divergence: Double)]) { (self.name, self.choices) = (name, choices) }
  }

  private let candidates: [Candidate]
  private var chosen: [Int]

  /// The allocation that spends at most `spare` bytes beyond those of the smallest choices.
  package init(_ candidates: [Candidate], spare: Int) {
    self.candidates = candidates
    chosen = [Int](repeating: 0, count: candidates.count)
    var left = spare
    while let (tensor, choice) = best(within: left) {
      left -= bytes(tensor, choice)
      chosen[tensor] = choice
    }
  }

  /// The choices, in the order of the candidates.
  package var choices: [BitChoice] {
    zip(candidates, chosen).map { candidate, index in
      BitChoice(
        name: candidate.name, bits: candidate.choices[index].bits, leastBits: candidate.choices[0].bits,
        leastDivergence: candidate.choices[0].divergence,
        divergence: candidate.choices[index].divergence)
    }
  }

  /// The bytes that another choice takes beyond the present one.
  private func bytes(_ tensor: Int, _ choice: Int) -> Int {
    candidates[tensor].choices[choice].bytes - candidates[tensor].choices[chosen[tensor]].bytes
  }

  /// The next step: what saves most for each byte.
  private func best(within left: Int) -> (tensor: Int, choice: Int)? {
    var found: (tensor: Int, choice: Int)?
    var most = 0.0
    for (tensor, candidate) in candidates.enumerated() {
      for choice in candidate.choices.indices.dropFirst(chosen[tensor] + 1) where bytes(tensor, choice) <= left {
        let saved = candidate.choices[chosen[tensor]].divergence - candidate.choices[choice].divergence
        let gain = saved / Double(max(bytes(tensor, choice), 1))
        if gain > most { (found, most) = ((tensor, choice), gain) }
      }
    }
    return found
  }
}
