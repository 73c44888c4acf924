import DibitJSON
import DibitKernels
import DibitModel
import DibitTensor
import DibitTestSupport
import Foundation
import Testing

@testable import DibitTraining

@Suite struct CooccurrenceTests {
  /// Two fields of eight words each that never meet, with four words that stand everywhere, in documents of twelve tokens.
  private static let text: [Int32] = {
    var rng = SplitMix64(seed: 1)
    return (0..<400).flatMap { document -> [Int32] in
      let field = Int32(document % 2) * 8
      return (0..<12).map { $0 % 3 == 0 ? Int32(16 + rng.below(4)) : field + Int32(rng.below(8)) } + [20]
    }
  }()

  @Test func countsAreThoseOfEveryPair() {
    let text: [Int32] = [0, 1, 2, 1, 5, 1, 1, 3, 0, 5, 2]
    var settings = Cooccurrence()
    (settings.window, settings.contexts) = (2, 3)
    let counts = settings.counts(text, 6, 5)
    // By frequency, then by number: 1, then 0 and 2.
    let contexts = [1, 0, 2]
    for token in 0..<6 {
      for (column, context) in contexts.enumerated() {
        var expected: Float = 0
        for i in text.indices where text[i] == token {
          for j in text.indices where text[j] == context && i != j && abs(i - j) <= 2 && token != 5 {
            if !text[min(i, j)...max(i, j)].contains(5) { expected += 1 }
          }
        }
        #expect(counts[token, column] == expected, "\(token) beside \(context)")
      }
    }
  }

  @Test func information() {
    let counts: [[Double]] = [[4, 0, 1], [0, 9, 2], [0, 0, 0], [1, 1, 1]]
    var matrix = Matrix(rows: 4, columns: 3, values: counts.flatMap { $0.map { Float($0) } })
    Cooccurrence.replaceWithInformation(&matrix)
    let smooth = (0..<3).map { column in pow(counts.reduce(0) { $0 + $1[column] }, 0.75) }
    for (row, line) in counts.enumerated() {
      for (column, count) in line.enumerated() {
        let expected = count == 0 ? 0 : max(0, log(count / line.reduce(0, +) / (smooth[column] / smooth.reduce(0, +))))
        #expect(abs(Double(matrix[row, column]) - expected) < 1e-5, "\(row), \(column)")
      }
    }
  }

  /// The columns of a Householder reflection: singular vectors that a test knows.
  private static func reflection(_ size: Int) -> [[Float]] {
    let w = (0..<size).map { Float($0 % 5) - 1.7 }
    let square = w.reduce(0) { $0 + $1 * $1 }
    return (0..<size).map { i in (0..<size).map { j in (i == j ? 1 : 0) - 2 * w[i] * w[j] / square } }
  }

  private static func matrix(_ rows: Int, _ columns: Int, singularValues: [Float]) -> Matrix {
    let (left, right) = (reflection(rows), reflection(columns))
    var matrix = Matrix(rows: rows, columns: columns)
    for i in 0..<rows {
      for j in 0..<columns {
        matrix[i, j] = singularValues.indices.reduce(0) { $0 + singularValues[$1] * left[$1][i] * right[$1][j] }
      }
    }
    return matrix
  }

  @Test func theBasisSpansTheLeadingSingularVectors() {
    let left = Self.reflection(40)
    let matrix = Self.matrix(40, 30, singularValues: [50, 20, 8, 4, 0.4, 0.3, 0.2, 0.1])
    var rng = SplitMix64(seed: 3)
    let basis = Cooccurrence.leadingSubspace(of: matrix, dimension: 4, iterations: 5, using: &rng, on: Compute(threads: 2))
    for i in 0..<4 {
      for j in 0..<4 {
        let product = (0..<40).reduce(Float(0)) { $0 + basis[$1, i] * basis[$1, j] }
        #expect(abs(product - (i == j ? 1 : 0)) < 1e-4, "columns \(i) and \(j): \(product)")
      }
    }
    for vector in 0..<8 {
      let projections = (0..<4).map { column in (0..<40).reduce(Float(0)) { $0 + basis[$1, column] * left[vector][$1] } }
      let share = projections.reduce(0) { $0 + $1 * $1 }
      #expect(abs(share - (vector < 4 ? 1 : 0)) < 1e-3, "vector \(vector): \(share)")
    }
  }

  @Test("a rank below the dimension", arguments: [[Float](), [3], [3, 2]])
  func lowRank(_ singularValues: [Float]) {
    let left = Self.reflection(20)
    let matrix = Self.matrix(20, 12, singularValues: singularValues)
    var rng = SplitMix64(seed: 3)
    let basis = Cooccurrence.leadingSubspace(of: matrix, dimension: 6, iterations: 3, using: &rng, on: Compute(threads: 1))
    #expect(basis.values.allSatisfy { $0.isFinite && abs($0) <= 1.01 })
    for vector in singularValues.indices {
      let projections = (0..<6).map { column in (0..<20).reduce(Float(0)) { $0 + basis[$1, column] * left[vector][$1] } }
      #expect(abs(projections.reduce(0) { $0 + $1 * $1 } - 1) < 0.02, "vector \(vector)")
    }
  }

  @Test func wordsOfOneFieldGetRowsOfOneDirection() {
    var settings = Cooccurrence()
    settings.window = 5
    func rows(threads: Int) -> Matrix {
      settings.rows(of: Self.text, vocabulary: 24, dimension: 2, boundary: 20, seed: 7, on: Compute(threads: threads))
    }
    let (one, others) = (rows(threads: 1).values, rows(threads: 2).values)
    #expect(one == others)
    func cosine(_ a: Int, _ b: Int) -> Float { (0..<2).reduce(0) { $0 + one[a * 2 + $1] * one[b * 2 + $1] } }
    for a in 0..<16 {
      for b in 0..<16 where a / 8 == b / 8 { #expect(cosine(a, b) > 0.9, "\(a) and \(b)") }
      for b in 0..<16 where a / 8 != b / 8 { #expect(cosine(a, b) < 0.5, "\(a) and \(b)") }
    }
    // The boundary and tokens that never come have no neighbours.
    for token in 20..<24 { for channel in 0..<2 { #expect(one[token * 2 + channel] == 0) } }
  }

  @Test func tokensWithoutNeighboursKeepTheirRandomRows() throws {
    let configuration = try ModelConfiguration(json: .object(try TinyCheckpoint.afm7().configuration))
    let random = Pretrainer.initialWeights(configuration, seed: 1)
    var weights = random
    let compute = Compute(threads: 2)
    Pretrainer.setEmbedding(of: &weights, from: Self.text, boundary: 20, seed: 1, on: compute)
    let channels = configuration.hiddenSize
    for token in 0..<configuration.vocabularySize {
      let row = token * channels..<(token + 1) * channels
      let isSame = row.allSatisfy { weights.embedding.weight.values[$0] == random.embedding.weight.values[$0] }
      #expect(isSame == (token >= 20), "token \(token)")
    }
    for (ours, theirs) in zip(weights.parameters, random.parameters) where ours.index != weights.embedding.index {
      #expect(ours.weight.values.indices.allSatisfy { ours.weight.values[$0] == theirs.weight.values[$0] })
    }
  }
}
