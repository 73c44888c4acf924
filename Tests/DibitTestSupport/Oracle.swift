public import ComplexModule
public import RealModule

/// What the oracles compute with: `Double` for values, `Complex<Double>` for gradients.
public protocol OracleNumber: AlgebraicField, ElementaryFunctions {
  /// A constant.
  init(_ real: Double)
  /// The part that branches may look at: an analytic function has no `max`.
  var realPart: Double { get }
}

extension Double: OracleNumber {
  /// The number itself.
  public var realPart: Double { self }
}

extension Complex: OracleNumber where RealType == Double {
  /// The real part.
  public var realPart: Double { real }
}

/// Every op as its formula, row-major, for any number type. Slow, and written to be read.
public enum Oracle {
  /// `y = x Wᵀ`; `x: [n, k]`, `W: [m, k]`, `y: [n, m]`.
  public static func linear<T: OracleNumber>(_ x: [T], _ w: [T], inner k: Int) -> [T] {
    let (n, m) = (x.count / k, w.count / k)
    var y: [T] = []
    y.reserveCapacity(n * m)
    for i in 0..<n {
      for j in 0..<m {
        var sum = T.zero
        for t in 0..<k { sum += x[i * k + t] * w[j * k + t] }
        y.append(sum)
      }
    }
    return y
  }

  /// `[rows, columns]` to `[columns, rows]`.
  public static func transposed<T>(_ x: [T], columns: Int) -> [T] {
    (0..<columns).flatMap { column in stride(from: column, to: x.count, by: columns).map { x[$0] } }
  }

  /// `y = s (x Aᵀ) Bᵀ`; `x: [n, k]`, `A: [r, k]`, `B: [m, r]`.
  public static func lora<T: OracleNumber>(_ x: [T], a: [T], b: [T], scale: Double, inner k: Int) -> [T] {
    linear(linear(x, a, inner: k), b, inner: a.count / k).map { $0 * T(scale) }
  }

  /// `y = x w / sqrt(mean(x²) + ε)` over rows of `w.count`.
  public static func rmsNorm<T: OracleNumber>(_ x: [T], weight w: [T], epsilon: Double) -> [T] {
    let columns = w.count
    return x.indices.map { index in
      let row = index / columns * columns
      let squares = x[row..<row + columns].reduce(T.zero) { $0 + $1 * $1 }
      return x[index] * w[index - row] / T.sqrt(squares / T(Double(columns)) + T(epsilon))
    }
  }

  /// Pair `i` of each head of `2 frequencies.count` elements turns by `position · frequencies[i]`.
  public static func rope<T: OracleNumber>(
    _ x: [T], positions: [Int], frequencies: [Double], columns: Int, interleaved: Bool
  ) -> [T] {
    var y = x
    let pairs = frequencies.count
    for (row, position) in positions.enumerated() {
      for head in stride(from: row * columns, to: (row + 1) * columns, by: 2 * pairs) {
        for pair in 0..<pairs {
          let angle = Double(position) * frequencies[pair]
          let first = head + (interleaved ? 2 * pair : pair)
          let second = interleaved ? first + 1 : first + pairs
          let (cosine, sine) = (T(Double.cos(angle)), T(Double.sin(angle)))
          y[first] = x[first] * cosine - x[second] * sine
          y[second] = x[first] * sine + x[second] * cosine
        }
      }
    }
    return y
  }

  /// One sequence of an attention batch: query `i` of `queries` sees the cache rows `before` and `own ... own + i`.
  public struct Sequence: Sendable {
    /// Rows of `q`.
    public var queries: Range<Int>
    /// Cache rows that every query sees.
    public var before: [Int]
    /// The cache row of the first query.
    public var own: Int

    /// A sequence whose first query lies in cache row `own`.
    public init(queries: Range<Int>, before: [Int] = [], own: Int) {
      self.queries = queries
      self.before = before
      self.own = own
    }
  }

  /// `y = softmax(scale q Kᵀ) V` per head; `q: [n, heads size]`, `k, v: [rows, keyValueHeads size]`.
  public static func attention<T: OracleNumber>(
    q: [T], k: [T], v: [T], heads: Int, keyValueHeads: Int, headSize: Int, scale: Double, sequences: [Sequence]
  ) -> [T] {
    var y = [T](repeating: .zero, count: q.count)
    let (queryColumns, keyColumns) = (heads * headSize, keyValueHeads * headSize)
    for sequence in sequences {
      for (i, row) in sequence.queries.enumerated() {
        let seen = sequence.before + Array(sequence.own...sequence.own + i)
        for head in 0..<heads {
          let at = row * queryColumns + head * headSize
          let keyValueAt = head / (heads / keyValueHeads) * headSize
          let scores = seen.map { key in
            (0..<headSize).reduce(T.zero) { $0 + q[at + $1] * k[key * keyColumns + keyValueAt + $1] } * T(scale)
          }
          for (key, probability) in zip(seen, softmax(scores)) {
            for d in 0..<headSize { y[at + d] += probability * v[key * keyColumns + keyValueAt + d] }
          }
        }
      }
    }
    return y
  }

  /// `exp(x) / Σ exp(x)`.
  public static func softmax<T: OracleNumber>(_ x: [T]) -> [T] {
    let shift = T(x.map(\.realPart).max() ?? 0)
    let powers = x.map { T.exp($0 - shift) }
    let total = powers.reduce(T.zero, +)
    return powers.map { $0 / total }
  }

  /// `log Σ exp(x)`.
  public static func logSumExp<T: OracleNumber>(_ x: [T]) -> T {
    let shift = T(x.map(\.realPart).max() ?? 0)
    return shift + T.log(x.reduce(T.zero) { $0 + T.exp($1 - shift) })
  }

  /// `e^x`.
  public static func exp(_ x: Double) -> Double { Double.exp(x) }

  /// `y = gate / (1 + e^-gate) · up`.
  public static func swiglu<T: OracleNumber>(gate: [T], up: [T]) -> [T] {
    zip(gate, up).map { $0 / (T(1) + T.exp(-$0)) * $1 }
  }

  /// `losses[i] = log Σ exp(logits[i]) - logits[i, target]`; 0 where the target is negative.
  public static func crossEntropy<T: OracleNumber>(_ logits: [T], targets: [Int], columns: Int) -> [T] {
    targets.enumerated().map { row, target in
      target < 0 ? T.zero : logSumExp(Array(logits[row * columns..<(row + 1) * columns])) - logits[row * columns + target]
    }
  }

  /// `y[i] = W[ids[i]]`.
  public static func embedding<T: OracleNumber>(_ ids: [Int], weight w: [T], columns: Int) -> [T] {
    ids.flatMap { w[$0 * columns..<($0 + 1) * columns] }
  }
}
