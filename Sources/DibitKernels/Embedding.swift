internal import CDibitKernels
package import DibitTensor

/// Rows of a table by token id.
package enum Embedding {
  /// `y[i] = W[ids[i]]`; `W: [V, C]`, `y: [n, C]`. Ids must lie in `0..<V`.
  package static func forward(_ ids: Span<Int32>, weight w: Weight, into y: inout Matrix, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("embedding", begin, rows: y.rows, columns: y.columns, bytes: ids.count * (w.byteCount / max(w.rows, 1))) }
    require(y.rows == ids.count && y.columns == w.columns, "Embedding: \(ids.count) ids, W \(w.shape), y \(y.shape)")
    let ys = unsafe y.mutablePointer
    for i in ids.indices {
      let id = Int(ids[i])
      require(id >= 0 && id < w.rows, "Embedding: id \(id) outside 0..<\(w.rows)")
      unsafe withUnsafePointer(to: unsafe w.kernelView) {
        unsafe compute.kernels.expand($0, id, id + 1, 0, w.columns, ys + i * w.columns, w.columns)
      }
    }
  }

  /// `y[i] += W[ids[i]]`; `W: [V, C]`, `y: [n, C]`. Ids must lie in `0..<V`.
  package static func add(_ ids: Span<Int32>, weight w: Weight, to y: inout Matrix, on compute: Compute) {
    let begin = compute.begin()
    defer { compute.end("embedding", begin, rows: y.rows, columns: y.columns, bytes: ids.count * (w.byteCount / max(w.rows, 1))) }
    require(y.rows == ids.count && y.columns == w.columns, "Embedding: \(ids.count) ids, W \(w.shape), y \(y.shape)")
    let (ys, columns) = unsafe (y.mutablePointer, w.columns)
    unsafe ids.withUnsafeBufferPointer { ids in
      compute.forEachRange(ids.count, step: 16) { r, worker in
        let row = unsafe compute.scratch(worker, count: columns)
        for i in r {
          let id = unsafe Int(ids[i])
          require(id >= 0 && id < w.rows, "Embedding: id \(id) outside 0..<\(w.rows)")
          unsafe withUnsafePointer(to: unsafe w.kernelView) {
            unsafe compute.kernels.expand($0, id, id + 1, 0, columns, row, columns)
            unsafe compute.kernels.add(row, ys + i * columns, columns)
          }
        }
      }
    }
  }

  /// `dW[ids[i]] += dy[i]`, in order of `i`.
  package static func backward(_ ids: Span<Int32>, _ dy: borrowing Matrix, dWeight: inout Matrix, on compute: Compute) {
    require(
      dy.rows == ids.count && dWeight.columns == dy.columns, "Embedding.backward: \(ids.count) ids, dy \(dy.shape), dW \(dWeight.shape)")
    let (dys, dws) = unsafe (dy.pointer, dWeight.mutablePointer)
    for i in ids.indices {
      let id = Int(ids[i])
      require(id >= 0 && id < dWeight.rows, "Embedding.backward: id \(id) outside 0..<\(dWeight.rows)")
      unsafe compute.kernels.add(dys + i * dy.columns, dws + id * dy.columns, dy.columns)
    }
  }
}
