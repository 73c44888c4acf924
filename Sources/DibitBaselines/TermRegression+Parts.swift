extension TermRegression {
  /// A fit as numbers that can be kept in a file. No term can be read from it, only recognised.
  package struct Parts: Equatable, Sendable {
    /// The terms of one kind, each with a column; columns of the kinds come one behind the other.
    package struct Block: Equatable, Sendable {
      /// The kind.
      package var kind: TermKind
      /// The 64-bit hash of each term.
      package var hashes: [UInt64]
      /// The weight of each term in a row of features: `1 + log((1 + texts) / (1 + texts with the term))`.
      package var rarities: [Float]

      /// Terms with their weights.
      package init(_ kind: TermKind, hashes: [UInt64], rarities: [Float]) {
        (self.kind, self.hashes, self.rarities) = (kind, hashes, rarities)
      }
    }

    /// The kinds of terms.
    package var blocks: [Block]
    /// The weight of `½ ‖W‖²` that the fit was made with.
    package var penalty: Double
    /// `[columns + 1, labels]`: the weights of each column, and behind the last one the intercepts.
    package var weights: [Float]

    /// Parts of a fit.
    package init(blocks: [Block], penalty: Double, weights: [Float]) {
      (self.blocks, self.penalty, self.weights) = (blocks, penalty, weights)
    }
  }

  /// The fit as it is kept, rounded to floats.
  package var parts: Parts {
    Parts(
      blocks: blocks.map { block in
        var hashes = [UInt64](repeating: 0, count: block.weights.columns)
        for (hash, number) in block.numbers.hashes {
          if let column = block.weights.column(of: number) { hashes[column] = hash }
        }
        return Parts.Block(block.numbers.kind, hashes: hashes, rarities: block.weights.ofColumns.map { Float($0) })
      }, penalty: setting.penalty, weights: regression.weights.map { Float($0) })
  }

  /// The fit that was kept, of `labels` labels; nil for parts that no fit has: numbers that are not finite, a term twice, another count.
  package init?(_ parts: Parts, labels: Int) {
    let columns = parts.blocks.reduce(0) { $0 + $1.hashes.count }
    guard labels > 0, parts.weights.count == (columns + 1) * labels, parts.weights.allSatisfy(\.isFinite),
      parts.penalty.isFinite, Set(parts.blocks.map(\.kind)).count == parts.blocks.count
    else { return nil }
    var blocks: [Block] = []
    for block in parts.blocks {
      guard block.rarities.count == block.hashes.count, block.rarities.allSatisfy({ $0.isFinite && $0 > 0 }),
        let numbers = TermNumbers(block.kind, hashes: block.hashes)
      else { return nil }
      blocks.append(Block(numbers: numbers, weights: TermWeights(block.rarities.map { Double($0) })))
    }
    self.blocks = blocks
    setting = Setting(blocks.map(\.numbers.kind), penalty: parts.penalty)
    regression = LogisticRegression(weights: parts.weights.map { Double($0) }, labels: labels)
  }
}
