public import BasicContainers
public import DibitTensor

/// A low-rank adapter's shape and the layers it applies to.
public struct AdapterConfiguration: Equatable, Sendable {
  /// Rows of `A` and columns of `B`.
  public var rank = 32
  /// The update is scaled by `alpha / rank`.
  public var alpha: Float = 16
  /// The kinds of linear layers that are adapted.
  public var targets = LinearKind.allCases

  /// Rank 32, alpha 16, every linear layer.
  public init() {}

  /// What the update is multiplied by.
  public var scale: Float { rank == 0 ? 0 : alpha / Float(rank) }
}

/// The matrices `A: [R, in]` and `B: [out, R]` of every adapted linear layer; also used for their gradients and moments.
@safe
public struct Adapter: ~Copyable, Sendable {
  /// Rank, scale and targets.
  public let configuration: AdapterConfiguration
  /// Which module each entry adapts: `model.layers.3.self_attn.q_proj`.
  public let modules: [String]
  /// `A` of each entry, `[R, in]`.
  public var a: UniqueArray<Matrix>
  /// `B` of each entry, `[out, R]`.
  public var b: UniqueArray<Matrix>
  /// The entry of layer `l`, kind `k` at `l * 7 + k`; nil where nothing is adapted.
  private let entries: [Int?]

  /// Zeroed matrices for each target layer of `weights`.
  public init(_ configuration: AdapterConfiguration, for weights: DecoderWeights) {
    self.configuration = configuration
    var (entries, modules): ([Int?], [String]) = ([], [])
    a = UniqueArray()
    b = UniqueArray()
    for block in weights.blocks {
      for kind in LinearKind.allCases {
        guard configuration.rank > 0, configuration.targets.contains(kind), let parameter = block.linear(kind) else {
          entries.append(nil)
          continue
        }
        entries.append(modules.count)
        modules.append(parameter.name.module)
        a.append(Matrix(rows: configuration.rank, columns: parameter.weight.columns))
        b.append(Matrix(rows: parameter.weight.rows, columns: configuration.rank))
      }
    }
    self.entries = entries
    self.modules = modules
  }

  /// An adapter that changes nothing and costs nothing.
  public static func none(for weights: DecoderWeights) -> Adapter {
    var configuration = AdapterConfiguration()
    configuration.rank = 0
    return Adapter(configuration, for: weights)
  }

  /// The number of adapted layers.
  public var count: Int { modules.count }

  /// The entry of a layer's linear, or nil where it is not adapted.
  public func entry(_ layer: Int, _ kind: LinearKind) -> Int? { entries[layer * LinearKind.allCases.count + kind.rawValue] }

  /// The number of trained numbers.
  public var elementCount: Int {
    var total = 0
    for i in 0..<count { total += a[i].count + b[i].count }
    return total
  }

  /// The usual start: A uniform in ±1/√in, B zero, so that the first step begins at the base model.
  public mutating func initialize(using rng: inout SplitMix64) {
    for i in 0..<count {
      let bound = 1 / Float(a[i].columns).squareRoot()
      for row in 0..<a[i].rows { for column in 0..<a[i].columns { a[i][row, column] = rng.uniform(bound: bound) } }
      b[i].fill(0)
    }
  }

  /// Sets every matrix to zero.
  public mutating func clear() {
    for i in 0..<count {
      a[i].fill(0)
      b[i].fill(0)
    }
  }
}
