public import BasicContainers
public import DibitTensor

/// A low-rank adapter's shape and the layers it applies to.
public struct AdapterConfiguration: Equatable, Sendable {
  /// Rows of `A` and columns of `B`.
  public var rank = 32
  /// The update is scaled by `alpha / rank`.
  public var alpha: Float = 16
  /// The kinds of linear layers that are adapted. A fused layer counts when it, or each of its parts, is here.
  public var targets = LinearKind.allCases
  /// The only modules of those kinds that are adapted; nil for all.
  public var modules: Set<String>?
  /// Whether the update is scaled by `alpha / √rank` instead (Kalajdzievski, "rsLoRA", 2023).
  public var stabilizesRank = false

  /// The share of the inputs of `A` that a training step leaves out; the others are scaled up in their place.
  public var dropout: Float = 0

  /// Rank 32, alpha 16, every linear layer.
  public init() {}

  /// What the update is multiplied by.
  public var scale: Float { rank == 0 ? 0 : alpha / (stabilizesRank ? Float(rank).squareRoot() : Float(rank)) }

  /// Whether the linear layer `kind` called `module` is adapted.
  func adapts(_ kind: LinearKind, _ module: String) -> Bool {
    guard rank > 0, modules?.contains(module) ?? true else { return false }
    let parts: [LinearKind] =
      switch kind {
      case .queryKeyValue: [.query, .key, .value]
      case .gateUp: [.gate, .up]
      default: [kind]
      }
    return targets.contains(kind) || parts.allSatisfy { targets.contains($0) }
  }
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
  /// How the rows of each entry's `B` lie in a PEFT file.
  public let layouts: [ParameterLayout]
  /// What leaves inputs out in training; nil without dropout.
  public var dropout: AdapterDropout?
  /// The entry of layer `l`, kind `k` at `l * kinds + k`; nil where nothing is adapted.
  private let entries: [Int?]

  /// Zeroed matrices for each target layer of `weights`.
  public init(_ configuration: AdapterConfiguration, for weights: DecoderWeights) {
    self.configuration = configuration
    var (entries, modules, layouts): ([Int?], [String], [ParameterLayout]) = ([], [], [])
    a = UniqueArray()
    b = UniqueArray()
    for layer in weights.blocks.indices {
      for kind in LinearKind.allCases {
        guard let parameter = weights.linear(kind, layer), configuration.adapts(kind, parameter.name.module) else {
          entries.append(nil)
          continue
        }
        entries.append(modules.count)
        modules.append(parameter.name.module)
        layouts.append(parameter.name.layout.ofAdapterB)
        a.append(Matrix(rows: configuration.rank, columns: parameter.weight.columns))
        b.append(Matrix(rows: parameter.weight.rows, columns: configuration.rank))
      }
    }
    self.entries = entries
    self.modules = modules
    self.layouts = layouts
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

  /// `B` of an entry, or in an adapter of gradients its gradient, with its rows in the order of a PEFT file.
  public func checkpointB(_ entry: Int) -> [Float] {
    layouts[entry].toCheckpoint(b[entry].values, rows: b[entry].rows, columns: b[entry].columns)
  }

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
