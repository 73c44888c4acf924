package import DibitKernels
internal import DibitModel
internal import DibitTensor

/// The part of a text's final hidden states that stands for the text.
package enum Pooling: String, CaseIterable, Sendable {
  /// Their mean over all tokens.
  case mean
  /// That of the last token, which has seen all others.
  case last
}

/// Turns texts into vectors: the final hidden states of the model, behind its last norm, pooled. For baselines that learn nothing of the
/// model, such as the nearest centroid.
package struct TextEmbedder: ~Copyable {
  /// Elements of a vector.
  package let size: Int
  /// The pooling of hidden states.
  package let pooling: Pooling
  private var passes: PackedPasses

  /// An embedder of texts of up to `context` tokens, by default as many as the model allows; longer ones lose their end.
  package init(
    _ model: MeasuredModel, pooling: Pooling = .mean, context: Int? = nil, rows: Int = 512, precision: KeyValuePrecision? = nil,
    on compute: Compute
  ) {
    size = model.configuration.hiddenSize
    self.pooling = pooling
    passes = PackedPasses(model, context: context, rows: rows, precision: precision, on: compute)
  }

  /// The most tokens of a text.
  package var context: Int { passes.context }

  /// The vector of each text's tokens, ``size`` elements. A text without tokens, with an unknown one, or one that the model makes no
  /// numbers of, has an error and stops no other.
  package mutating func embed(_ texts: [[Int32]]) -> [Result<[Float], InferenceError>] {
    var results: [Result<[Float], InferenceError>] = []
    var open: [Open] = []
    var next = 0
    while next < texts.count || !open.isEmpty {
      passes.beginPass()
      var pieces: [Piece] = []
      for index in open.indices { append(&open[index], index, texts, &pieces) }
      while passes.freeRows > 0, next < texts.count {
        let tokens = Array(texts[next].prefix(passes.context))
        if let fault = fault(tokens) {
          results.append(.failure(fault))
          next += 1
          continue
        }
        guard let started = passes.start(tokens, capacity: tokens.count) else { break }
        results.append(.success([]))
        open.append(Open(index: next, count: tokens.count, slot: started.slot, sums: [Double](repeating: 0, count: size)))
        append(&open[open.count - 1], open.count - 1, texts, &pieces)
        next += 1
      }
      if passes.isEmpty { break }
      passes.run()
      passes.withHidden { hidden in for piece in pieces { open[piece.text].add(hidden, piece.rows) } }
      for text in open where text.done == text.count {
        passes.release(text.slot)
        let vector = text.sums.map { Float($0 / Double(pooling == .mean ? text.count : 1)) }
        results[text.index] = vector.allSatisfy(\.isFinite) ? .success(vector) : .failure(.notFinite(position: text.count))
      }
      open.removeAll { $0.done == $0.count }
    }
    return results
  }

  /// A text under way.
  private struct Open {
    let index: Int
    let count: Int
    let slot: Range<Int>
    var done = 0
    var sums: [Double]

    mutating func add(_ hidden: borrowing Matrix, _ rows: Range<Int>) {
      for row in rows { for column in sums.indices { sums[column] += Double(hidden[row, column]) } }
    }
  }

  /// Rows of hidden states that belong to a text.
  private struct Piece {
    let text: Int
    let rows: Range<Int>
  }

  private func fault(_ tokens: [Int32]) -> InferenceError? {
    let vocabulary = passes.model.configuration.vocabularySize
    if tokens.isEmpty { return .emptyText }
    return tokens.first { $0 < 0 || Int($0) >= vocabulary }.map { .unknownToken($0, vocabulary: vocabulary) }
  }

  /// Adds the next tokens of a text to the pass.
  private mutating func append(_ text: inout Open, _ index: Int, _ texts: [[Int32]], _ pieces: inout [Piece]) {
    let range = text.done..<min(text.done + passes.freeRows, text.count)
    guard !range.isEmpty else { return }
    passes.append(texts[text.index][range], slot: text.slot, past: text.done)
    text.done = range.upperBound
    let last = passes.lastRow
    if pooling == .last, text.done < text.count { return }
    let first = pooling == .last ? last : last + 1 - range.count
    var hidden: [Int] = []
    for row in first...last { hidden.append(passes.want(row)) }
    pieces.append(Piece(text: index, rows: hidden[0]..<hidden[0] + hidden.count))
  }
}
