/// The formats of a model's tensors, as a user asks for them.
package struct QuantizationScheme: Equatable, Sendable {
  /// Bits of a weight in a linear layer, one of ``tensorBitChoices``: those of a grid, 16 (floats of the source's 16-bit type, BF16 for others) or 32.
  package var bits = GridLevels.two.bits
  /// Consecutive inputs that share a scale, one of ``groups``; nil for a whole row.
  package var group: Int? = 64
  /// Bits of the embedding and of an output head of its own, one of ``tableBitChoices``.
  package var embeddingBits = GridLevels.four.bits
  /// The kind of levels that its grids have.
  package var family = LevelFamily.symmetric
  /// Bits of the matrices that have others than those, by the names of their tensors; each on a grid.
  package var tensorBits: [String: Int] = [:]

  /// The matrices that are added to the weights of linear layers to bring back what rounding took; nil where there are none.
  package var recovery: Recovery?

  /// Low-rank matrices beside the weights of linear layers.
  package struct Recovery: Equatable, Sendable {
    /// Rows of `A: [R, in]`, and columns of `B: [out, R]`.
    package let rank: Int
    /// The grid of both.
    package let levels: GridLevels

    /// The bits that both may have.
    package static let bitChoices = [GridLevels.four.bits, GridLevels.eight.bits]
    /// The ranks that are read.
    package static let ranks = 1...4096

    /// A recovery of this rank and as many bits; nil where ``bitChoices`` or ``ranks`` lack them.
    package init?(rank: Int, bits: Int) {
      guard Self.ranks.contains(rank), Self.bitChoices.contains(bits), let levels = GridLevels(bits: bits) else { return nil }
      (self.rank, self.levels) = (rank, levels)
    }
  }

  /// 2 bits in groups of 64, embedding at 4 bits.
  package init() {}

  /// The bits that a tensor may have.
  package static let tensorBitChoices = GridLevels.rows(.symmetric).map(\.bits) + [16, 32]

  /// Those that a model may be asked for: 3 bits are the mean over all of its weights, of which some tensors may have as many.
  package static let bitChoices = tensorBitChoices.filter { $0 != GridLevels.three.bits }

  /// The choices for ``embeddingBits``: rows of a table lose too much below 4 bits.
  package static let tableBitChoices = bitChoices.filter { $0 >= 4 }

  /// The group sizes that kernels support, apart from a whole row.
  package static let groups = [32, 64, 128]

  /// Choices in words: "2, 4 or 16".
  package static func words(_ choices: [Int]) -> String {
    choices.dropLast().map { "\($0)" }.joined(separator: ", ") + (choices.last.map { " or \($0)" } ?? "")
  }

  /// True when linear layers lie on a grid.
  package var isQuantized: Bool { GridLevels(bits: bits) != nil }

  /// The grids that its matrices may have, in the order of their bits.
  package var grids: [GridLevels] { GridLevels.rows(family) }

  /// Returns the format of a matrix, a table or a linear layer's, in a tensor: which floats are kept depends on those of the `source`.
  package func format(of tensor: String, isTable: Bool, source: WeightFormat) -> WeightFormat {
    let bits = tensorBits[tensor] ?? (isTable ? embeddingBits : bits)
    if let levels = GridLevels(bits: bits, family) { return .grid(Grid(levels, group: group)) }
    return bits == 32 ? .f32 : source == .f16 ? .f16 : .bf16
  }
}
