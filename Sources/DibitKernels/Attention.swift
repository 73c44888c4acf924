internal import CDibitKernels
package import DibitTensor

/// Causal grouped-query attention: `y = softmax(scale q Kᵀ) V` per head, `H` query heads sharing `K` key/value heads
/// (Ainslie et al., "GQA", 2023). Probabilities are computed again in the backward pass, so no `T x T` matrix is kept.
@safe
package struct Attention: Equatable, Sendable {
  /// Query heads, `H`.
  package let heads: Int
  /// Key/value heads, `K`.
  package let keyValueHeads: Int
  /// Elements of a head, `D`.
  package let headSize: Int
  /// The factor of scores, usually `1 / sqrt(D)`.
  package let scale: Float
  /// The number of keys that a query sees, itself included; nil for all before it.
  package let window: Int?
  /// Scores become `cap · tanh(score / cap)`; nil leaves them.
  package let softCap: Float?

  /// `keyValueHeads` must divide `heads`; a window holds at least one key.
  package init(heads: Int, keyValueHeads: Int, headSize: Int, scale: Float, window: Int? = nil, softCap: Float? = nil) {
    require(window ?? 1 > 0 && softCap ?? 1 > 0, "Attention: window \(window ?? 1), soft cap \(softCap ?? 1)")
    require(keyValueHeads > 0 && heads % keyValueHeads == 0, "Attention: \(heads) heads, \(keyValueHeads) key/value heads")
    self.heads = heads
    self.keyValueHeads = keyValueHeads
    self.headSize = headSize
    self.scale = scale
    self.window = window
    self.softCap = softCap
  }

  /// `q, y: [n, H D]`; keys and values hold the rows that `segments` name. `logSumExp: [n, H]` is saved for the backward pass.
  package func forward(
    _ q: borrowing Matrix, keys: borrowing KeyValueRows, values: borrowing KeyValueRows, segments: borrowing Segments,
    saving logSumExp: inout Matrix, into y: inout Matrix, on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("attention", begin, rows: y.rows, columns: y.columns) }
    require(
      q.rows == segments.rows && q.columns == heads * headSize,
      "Attention: q \(q.shape), \(segments.rows) rows, \(heads) heads of \(headSize)")
    require(y.count == q.count && logSumExp.count == q.rows * heads, "Attention: y \(y.shape), log-sum-exp \(logSumExp.shape)")
    check(keys, values, segments)
    let tiles = Tiles(self, segments, threads: compute.threads)
    // At once for the most keys that the cache can hold: a text that grows token by token needs no more later.
    let scratchCount = max(tiles.scratchCount(headSize: headSize), tiles.scratchCount(headSize: headSize, tokens: 1, keys: keys.rows))
    let (qs, ys, ls, segment) = unsafe (q.pointer, y.mutablePointer, logSumExp.mutablePointer, segments.pointer)
    let (shape, k, v) = unsafe (self.shape, keys.view, values.view)
    compute.pool.forEach(tiles.count) { task, worker in
      let part = tiles.tile(task)
      let s = unsafe segment + part.segment
      let rows = min(tiles.tokens, unsafe Int(s.pointee.rows) - part.token)
      guard rows > 0 else { return }
      let tile = dibit_tile(
        kv_head: Int32(part.keyValueHead), head: Int32(part.head), heads: Int32(part.heads), row: Int32(part.token), rows: Int32(rows))
      let scratch = unsafe compute.scratch(worker, count: scratchCount)
      unsafe withUnsafePointer(to: shape) { shape in
        unsafe withUnsafePointer(to: tile) { tile in
          unsafe withUnsafePointer(to: k) { k in
            unsafe withUnsafePointer(to: v) { v in unsafe compute.kernels.attention(shape, s, tile, qs, k, v, ys, ls, scratch) }
          }
        }
      }
    }
  }

  private func check(_ keys: borrowing KeyValueRows, _ values: borrowing KeyValueRows, _ segments: borrowing Segments) {
    require(keys.columns == keyValueHeads * headSize && keys.rows >= segments.cacheRows, "Attention: keys [\(keys.rows), \(keys.columns)]")
    require(values.columns == keys.columns && values.rows >= segments.cacheRows, "Attention: values [\(values.rows), \(values.columns)]")
    require(
      keys.fits(heads: keyValueHeads) && values.fits(heads: keyValueHeads),
      "Attention: keys of \(keys.heads) heads, values of \(values.heads), expected \(keyValueHeads)")
  }

  /// Accumulates `dq`, `dk` and `dv` from `dy`; segments must be whole sequences.
  package func backward(
    _ dy: borrowing Matrix, y: borrowing Matrix, q: borrowing Matrix, keys: borrowing KeyValueRows, values: borrowing KeyValueRows,
    segments: borrowing Segments, saved logSumExp: borrowing Matrix, dq: inout Matrix, dk: inout Matrix, dv: inout Matrix,
    on compute: Compute
  ) {
    let begin = compute.begin()
    defer { compute.end("attention backward", begin, rows: dq.rows, columns: dq.columns) }
    require(segments.areWhole, "Attention.backward: a segment has a prefix or a past")
    require(
      dy.count == q.count && dq.count == q.count && y.count == q.count, "Attention.backward: dy \(dy.shape), q \(q.shape), dq \(dq.shape)")
    require(
      q.rows == segments.rows && logSumExp.count == q.rows * heads, "Attention.backward: q \(q.shape), log-sum-exp \(logSumExp.shape)")
    check(keys, values, segments)
    require(dk.count >= segments.cacheRows * keys.columns && dv.count == dk.count, "Attention.backward: dk \(dk.shape), dv \(dv.shape)")
    let (dys, ys, qs, ls) = unsafe (dy.pointer, y.pointer, q.pointer, logSumExp.pointer)
    require(keys.storage.isFloat && values.storage.isFloat, "Attention.backward: int8 keys or values cannot be trained through")
    let tiles = Tiles(self, segments, threads: 1)
    let scratchCount = tiles.backwardScratchCount(headSize: headSize)
    let (k, v, segment) = unsafe (keys.view, values.view, segments.pointer)
    let (dqs, dks, dvs) = unsafe (dq.mutablePointer, dk.mutablePointer, dv.mutablePointer)
    let (shape, groups) = (self.shape, keyValueHeads)
    compute.pool.forEach(segments.count * groups) { task, worker in
      let scratch = unsafe compute.scratch(worker, count: scratchCount)
      unsafe withUnsafePointer(to: shape) { shape in
        unsafe withUnsafePointer(to: k) { k in
          unsafe withUnsafePointer(to: v) { v in
            unsafe compute.kernels.attention_backward(
              shape, segment + task / groups, task % groups, tiles.tokens, dys, ys, qs, k, v, ls, dqs, dks, dvs, scratch)
          }
        }
      }
    }
  }

  private var shape: dibit_heads {
    dibit_heads(
      heads: Int32(heads), kv_heads: Int32(keyValueHeads), head_size: Int32(headSize), window: Int32(clamping: window ?? 0), scale: scale,
      soft_cap: softCap ?? 0)
  }
}
