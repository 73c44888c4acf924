package import ComplexModule
package import RealModule

/// What the oracles compute with: `Double` for values, `Complex<Double>` for gradients.
package protocol OracleNumber: AlgebraicField, ElementaryFunctions {
  /// A constant.
  init(_ real: Double)
  /// The part that branches may look at: an analytic function has no `max`.
  var realPart: Double { get }
}

extension Double: OracleNumber {
  /// The number itself.
  package var realPart: Double { self }
}

extension Complex: OracleNumber where RealType == Double {
  /// The real part.
  package var realPart: Double { real }
}

/// Every op as its formula, row-major, for any number type. Slow, and written to be read.
package enum Oracle {
  /// `y = x Wᵀ`; `x: [n, k]`, `W: [m, k]`, `y: [n, m]`.
  package static func linear<T: OracleNumber>(_ x: [T], _ w: [T], inner k: Int) -> [T] {
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
  package static func transposed<T>(_ x: [T], columns: Int) -> [T] {
    (0..<columns).flatMap { column in stride(from: column, to: x.count, by: columns).map { x[$0] } }
  }

  /// `y = s (x Aᵀ) Bᵀ`; `x: [n, k]`, `A: [r, k]`, `B: [m, r]`.
  package static func lora<T: OracleNumber>(_ x: [T], a: [T], b: [T], scale: Double, inner k: Int) -> [T] {
    linear(linear(x, a, inner: k), b, inner: a.count / k).map { $0 * T(scale) }
  }

  /// `y = x (w + offset) / sqrt(mean(x²) + ε)` over rows of `w.count`.
  package static func rmsNorm<T: OracleNumber>(_ x: [T], weight w: [T], offset: Double = 0, epsilon: Double) -> [T] {
    let columns = w.count
    return x.indices.map { index in
      let row = index / columns * columns
      let squares = x[row..<row + columns].reduce(T.zero) { $0 + $1 * $1 }
      return x[index] * (w[index - row] + T(offset)) / T.sqrt(squares / T(Double(columns)) + T(epsilon))
    }
  }

  /// `y = (x - mean) w / sqrt(mean((x - mean)²) + ε) + b` over rows of `w.count`.
  package static func layerNorm<T: OracleNumber>(_ x: [T], weight w: [T], bias b: [T], epsilon: Double) -> [T] {
    let (columns, count) = (w.count, T(Double(w.count)))
    return stride(from: 0, to: x.count, by: columns).flatMap { row in
      let mean = x[row..<row + columns].reduce(T.zero, +) / count
      let squares = x[row..<row + columns].reduce(T.zero) { $0 + ($1 - mean) * ($1 - mean) }
      let deviation = T.sqrt(squares / count + T(epsilon))
      return (0..<columns).map { (x[row + $0] - mean) / deviation * w[$0] + b[$0] }
    }
  }

  /// `y += b` in each row.
  package static func bias<T: OracleNumber>(_ x: [T], _ b: [T]) -> [T] { x.indices.map { x[$0] + b[$0 % b.count] } }

  /// Pair `i` of each head rotates by `position · frequencies[i]`, which is rounded to F32, and is multiplied by `factor`; a head has `headSize` elements, or two for
  /// each frequency.
  package static func rope<T: OracleNumber>(
    _ x: [T], positions: [Int], frequencies: [Double], columns: Int, interleaved: Bool, headSize: Int? = nil, factor: Double = 1
  ) -> [T] {
    var y = x
    let pairs = frequencies.count
    for (row, position) in positions.enumerated() {
      for head in stride(from: row * columns, to: (row + 1) * columns, by: headSize ?? 2 * pairs) {
        for pair in 0..<pairs {
          let angle = Double(Float(position) * Float(frequencies[pair]))
          let first = head + (interleaved ? 2 * pair : pair)
          let second = interleaved ? first + 1 : first + pairs
          let (cosine, sine) = (T(factor * Double.cos(angle)), T(factor * Double.sin(angle)))
          y[first] = x[first] * cosine - x[second] * sine
          y[second] = x[first] * sine + x[second] * cosine
        }
      }
    }
    return y
  }

  /// One sequence of an attention batch: query `i` of `queries` sees the cache rows `before` and `own ... own + i`.
  package struct Sequence: Sendable {
    /// Rows of `q`.
    package var queries: Range<Int>
    /// Cache rows that every query sees.
    package var before: [Int]
    /// The cache row of the first query.
    package var own: Int

    /// A sequence whose first query lies in cache row `own`.
    package init(queries: Range<Int>, before: [Int] = [], own: Int) {
      self.queries = queries
      self.before = before
      self.own = own
    }
  }

  /// `y = softmax(scale q Kᵀ) V` per head; `q: [n, heads size]`, `k, v: [rows, keyValueHeads size]`.
  ///
  /// With a window, a query sees the last `window` keys only; with a cap, scores become `cap tanh(score / cap)`.
  package static func attention<T: OracleNumber>(
    q: [T], k: [T], v: [T], heads: Int, keyValueHeads: Int, headSize: Int, scale: Double, sequences: [Sequence], window: Int? = nil,
    softCap: Double? = nil
  ) -> [T] {
    var y = [T](repeating: .zero, count: q.count)
    let (queryColumns, keyColumns) = (heads * headSize, keyValueHeads * headSize)
    for sequence in sequences {
      for (i, row) in sequence.queries.enumerated() {
        let seen = (sequence.before + Array(sequence.own...sequence.own + i)).suffix(window ?? .max)
        for head in 0..<heads {
          let at = row * queryColumns + head * headSize
          let keyValueAt = head / (heads / keyValueHeads) * headSize
          let scores = seen.map { key in
            let score = (0..<headSize).reduce(T.zero) { $0 + q[at + $1] * k[key * keyColumns + keyValueAt + $1] } * T(scale)
            return softCap.map { Self.softCap(score, $0) } ?? score
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
  package static func softmax<T: OracleNumber>(_ x: [T]) -> [T] {
    let shift = T(x.map(\.realPart).max() ?? 0)
    let powers = x.map { T.exp($0 - shift) }
    let total = powers.reduce(T.zero, +)
    return powers.map { $0 / total }
  }

  /// `log Σ exp(x)`.
  package static func logSumExp<T: OracleNumber>(_ x: [T]) -> T {
    let shift = T(x.map(\.realPart).max() ?? 0)
    return shift + T.log(x.reduce(T.zero) { $0 + T.exp($1 - shift) })
  }

  /// `e^x`.
  package static func exp(_ x: Double) -> Double { Double.exp(x) }

  /// `y = gate / (1 + e^-gate) · up`.
  package static func swiglu<T: OracleNumber>(gate: [T], up: [T]) -> [T] {
    zip(gate, up).map { $0 / (T(1) + T.exp(-$0)) * $1 }
  }

  /// `cap tanh(x / cap)`.
  package static func softCap<T: OracleNumber>(_ x: T, _ cap: Double) -> T { T.tanh(x / T(cap)) * T(cap) }

  /// The activations of feed-forwards.
  package enum Activation: Sendable { case silu, gelu, geluTanh }

  /// `silu(x)`, or one of the two forms of GELU.
  package static func activation<T: OracleNumber>(_ kind: Activation, _ x: T) -> T {
    switch kind {
    case .silu: x / (T(1) + T.exp(-x))
    case .gelu: x * T(0.5) * (T(1) + erf(x / T(Double.sqrt(2))))
    case .geluTanh: x * T(0.5) * (T(1) + T.tanh(T(Double.sqrt(2 / Double.pi)) * (x + T(0.044715) * x * x * x)))
    }
  }

  /// `2/√π Σ (-1)ⁿ x²ⁿ⁺¹ / (n! (2n + 1))` for small x, and beyond `1 - e^(-x²)/√π` times the continued fraction of Laplace.
  package static func erf<T: OracleNumber>(_ x: T) -> T {
    let square = x * x
    if abs(x.realPart) < 3 {
      var (term, sum) = (x, x)
      for n in 1..<120 {
        term = T.zero - term * square / T(Double(n))
        sum += term / T(Double(2 * n + 1))
      }
      return sum * T(2 / Double.sqrt(Double.pi))
    }
    let positive = x.realPart > 0 ? x : T.zero - x
    var fraction = positive
    for n in stride(from: 60, through: 1, by: -1) { fraction = positive + T(Double(n) / 2) / fraction }
    let value = T(1) - T.exp(T.zero - square) / (fraction * T(Double.sqrt(Double.pi)))
    return x.realPart > 0 ? value : T.zero - value
  }

  /// `losses[i] = log Σ exp(logits[i]) - logits[i, target]`; 0 where the target is negative.
  package static func crossEntropy<T: OracleNumber>(_ logits: [T], targets: [Int], columns: Int) -> [T] {
    targets.enumerated().map { row, target in
      target < 0 ? T.zero : logSumExp(Array(logits[row * columns..<(row + 1) * columns])) - logits[row * columns + target]
    }
  }

  /// `KL(softmax(teacher[i]) ‖ softmax(logits[i]))`.
  package static func divergence<T: OracleNumber>(_ logits: [T], teacher: [T], columns: Int) -> [T] {
    stride(from: 0, to: logits.count, by: columns).map { start in
      let (x, t) = (Array(logits[start..<start + columns]), Array(teacher[start..<start + columns]))
      let (logX, logT) = (logSumExp(x), logSumExp(t))
      return zip(x, t).reduce(T.zero) { sum, pair in sum + T.exp(pair.1 - logT) * ((pair.1 - logT) - (pair.0 - logX)) }
    }
  }

  /// `y[i] = W[ids[i]]`.
  package static func embedding<T: OracleNumber>(_ ids: [Int], weight w: [T], columns: Int) -> [T] {
    ids.flatMap { w[$0 * columns..<($0 + 1) * columns] }
  }
}
