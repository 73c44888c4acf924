package import DibitKernels
package import DibitTensor
internal import Glibc

/// The co-occurrence of the tokens of a text, as rows of an embedding: tokens with the same neighbours get rows of the same direction.
///
/// It counts how often each token stands near each of the most frequent ones, turns the counts into positive pointwise mutual information,
/// and finds an orthonormal basis of the leading left singular vectors of that matrix. No gradient step is needed for it, so a language model
/// that begins with these rows knows from its first step which words go together.
///
/// Sources: Levy, Goldberg and Dagan, "Improving distributional similarity with lessons learned from word embeddings" (TACL 2015), with
/// their smoothing of contexts and without singular values (p = 0); Halko, Martinsson and Tropp, "Finding structure with randomness"
/// (SIAM Review 2011), for the subspace iteration; Fukaya, Kannan, Nakatsukasa, Yamamoto and Yanagisawa, "Shifted Cholesky QR for computing the QR
/// factorization of ill-conditioned matrices" (SIAM Journal on Scientific Computing 2020).
package struct Cooccurrence: Sendable {
  /// The number of tokens to either side that co-occur with one.
  package var window = 15
  /// The most tokens that are counted as neighbours, the most frequent ones; fewer in vocabularies of more than 32,768, to bound the memory.
  package var contexts = 8192
  /// Steps of the subspace iteration.
  package var iterations = 5

  /// Values that suit some ten million tokens of text.
  package init() {}

  /// Unit rows `[vocabulary, dimension]` from a text of token ids; zeros for tokens without any neighbour.
  ///
  /// `boundary` is a token that separates documents: nothing co-occurs across it. Memory is `vocabulary` times ``contexts`` floats. The
  /// rows do not depend on the number of threads.
  package func rows(
    of text: [Int32], vocabulary: Int, dimension: Int, boundary: Int32?, seed: UInt64, on compute: Compute
  ) -> Matrix {
    var cooccurrence = counts(text, vocabulary, boundary)
    Self.replaceWithInformation(&cooccurrence)
    var rng = SplitMix64(seed: seed, purpose: "pretrain.cooccurrence")
    var rows = Self.leadingSubspace(of: cooccurrence, dimension: dimension, iterations: iterations, using: &rng, on: compute)
    Self.normalize(&rows)
    return rows
  }

  /// Counts how often each token stands near each context, `[vocabulary, contexts]`.
  func counts(_ text: [Int32], _ vocabulary: Int, _ boundary: Int32?) -> Matrix {
    let limit = min(contexts, vocabulary, max(1, (1 << 28) / vocabulary))
    var frequencies = [Int](repeating: 0, count: vocabulary)
    for token in text where token != boundary { frequencies[Int(token)] += 1 }
    let frequent = frequencies.indices.sorted { (frequencies[$1], $0) < (frequencies[$0], $1) }.prefix(limit)
    var context = [Int32](repeating: -1, count: vocabulary)
    for (column, token) in frequent.enumerated() { context[token] = Int32(column) }

    var result = Matrix(rows: vocabulary, columns: limit)
    var counts = result.mutableSpan
    let (text, contexts) = (text.span, context.span)
    for i in text.indices where text[i] != boundary {
      let (row, column) = (Int(text[i]) * limit, Int(contexts[Int(text[i])]))
      for j in i + 1..<max(i + 1, min(i + 1 + window, text.count)) {
        if text[j] == boundary { break }
        let other = Int(text[j])
        if contexts[other] >= 0 { counts[row + Int(contexts[other])] += 1 }
        if column >= 0 { counts[other * limit + column] += 1 }
      }
    }
    return result
  }

  /// Turns counts into `max(0, ln p(context | token) / p(context))`, with the probability of contexts smoothed by the power of 3/4.
  static func replaceWithInformation(_ matrix: inout Matrix) {
    let (rows, columns) = (matrix.rows, matrix.columns)
    var values = matrix.mutableSpan
    var shares = [Double](repeating: 0, count: columns)
    for row in 0..<rows { for column in 0..<columns { shares[column] += Double(values[row * columns + column]) } }
    shares = shares.map { pow($0, 0.75) }
    let sum = shares.reduce(0, +)
    let logarithms = shares.map { Float(log($0 / sum)) }
    for row in 0..<rows {
      let range = row * columns..<(row + 1) * columns
      var total: Float = 0
      for index in range { total += values[index] }
      for index in range where values[index] > 0 {
        values[index] = max(0, log(values[index] / total) - logarithms[index - range.lowerBound])
      }
    }
  }

  /// An orthonormal basis `[rows, dimension]` of the leading left singular vectors; columns that the rank does not fill are small.
  static func leadingSubspace(
    of matrix: borrowing Matrix, dimension: Int, iterations: Int, using rng: inout SplitMix64, on compute: Compute
  ) -> Matrix {
    let (rows, columns) = (matrix.rows, matrix.columns)
    var basis = Matrix(rows: rows, columns: dimension, values: (0..<rows * dimension).map { _ in rng.normal() })
    var image = Matrix(rows: columns, columns: dimension)
    for _ in 0..<iterations {
      image.fill(0)
      Gemm.tn(matrix, basis, into: &image, on: compute)
      basis.fill(0)
      Gemm.nn(matrix, image, into: &basis, on: compute)
      // Once leaves an error of the square of the condition number; twice does not.
      for _ in 0..<2 { orthonormalize(&basis, on: compute) }
    }
    return basis
  }

  /// Makes the columns orthonormal by the Cholesky factor of their products, shifted so that there always is one.
  private static func orthonormalize(_ basis: inout Matrix, on compute: Compute) {
    let size = basis.columns
    var gram = Matrix(rows: size, columns: size)
    Gemm.tn(basis, basis, into: &gram, on: compute)
    let trace = (0..<size).reduce(Double(0)) { $0 + Double(gram[$1, $1]) }
    guard trace > 0 else { return }
    var factor = [Double](repeating: 0, count: size * size)
    for i in 0..<size {
      for j in 0...i {
        var sum = Double(gram[i, j]) + (i == j ? 1e-6 * trace : 0)
        for k in 0..<j { sum -= factor[i * size + k] * factor[j * size + k] }
        factor[i * size + j] = i == j ? max(sum, 1e-7 * trace).squareRoot() : sum / factor[j * size + j]
      }
    }
    // The inverse of the factor, column by column.
    var inverse = Matrix(rows: size, columns: size)
    for column in 0..<size {
      var solution = [Double](repeating: 0, count: size)
      for i in column..<size {
        var sum: Double = i == column ? 1 : 0
        for k in column..<i { sum -= factor[i * size + k] * solution[k] }
        solution[i] = sum / factor[i * size + i]
        inverse[i, column] = Float(solution[i])
      }
    }
    var result = Matrix(rows: basis.rows, columns: size)
    Gemm.nt(basis, inverse, into: &result, on: compute)
    basis = result
  }

  /// Gives rows length one, where they have any.
  private static func normalize(_ matrix: inout Matrix) {
    let columns = matrix.columns
    var values = matrix.mutableSpan
    for start in stride(from: 0, to: values.count, by: columns) {
      var square: Float = 0
      for index in start..<start + columns { square += values[index] * values[index] }
      guard square > 0 else { continue }
      let scale = 1 / square.squareRoot()
      for index in start..<start + columns { values[index] *= scale }
    }
  }
}
