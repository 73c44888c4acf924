internal import BasicContainers
internal import DibitKernels
internal import DibitTensor

/// Causal grouped-query attention with its projections, and what a family puts between them: norms of heads, rotary embedding.
struct AttentionPart: BlockPart {
  /// The source of queries, keys and values.
  enum Projection: Sendable {
    /// One linear layer for all three.
    case fused(LinearLayer)
    /// A linear layer for each.
    case separate(query: LinearLayer, key: LinearLayer, value: LinearLayer)
    /// Queries alone: keys and values are those of an earlier layer.
    case query(LinearLayer)
  }

  let layer: Int
  /// The layer whose keys and values are attended to.
  let source: Int
  let projection: Projection
  let output: LinearLayer
  let linears: [LinearLayer]
  let queryNorm: NormLayer?
  let keyNorm: NormLayer?
  private let attention: Attention
  private let rope: RoPE?
  /// The index of the angles that ``rope`` takes.
  private let angles: Int
  /// True when heads are normalised behind the rotary embedding.
  private let normalizesRotated: Bool
  /// True when a norm takes all heads of a token together.
  private let normalizesWhole: Bool

  /// The attention of a layer; its parameters are added to `list`.
  init(_ c: ModelConfiguration, layer: Int, _ list: inout ParameterList) {
    self.layer = layer
    source = c.keyValueLayer(of: layer)
    let owns = source == layer
    let (q, k) = (c.queryColumns, c.keyColumns)
    normalizesWhole = c.headNorm == .wholeProjection
    normalizesRotated = c.headNorm == .afterRoPE
    queryNorm = list.norm(.query, layer: layer, columns: normalizesWhole ? q : c.headSize, if: c.normalizesHeads)
    keyNorm = list.norm(.key, layer: layer, columns: normalizesWhole ? k : c.headSize, if: c.normalizesHeads && owns)
    if c.fusesQueryKeyValue {
      projection = .fused(list.linear(.queryKeyValue, layer: layer, rows: q + 2 * k, columns: c.hiddenSize))
    } else {
      let query = list.linear(.query, layer: layer, rows: q, columns: c.hiddenSize)
      if owns {
        let key = list.linear(.key, layer: layer, rows: k, columns: c.hiddenSize)
        projection = .separate(query: query, key: key, value: list.linear(.value, layer: layer, rows: k, columns: c.hiddenSize))
      } else {
        projection = .query(query)
      }
    }
    output = list.linear(.output, layer: layer, rows: c.hiddenSize, columns: q)
    linears =
      switch projection {
      case .fused(let layer), .query(let layer): [layer, output]
      case .separate(let query, let key, let value): [query, key, value, output]
      }
    attention = c.attention(layer: layer)
    angles = c.layerSettings[layer].rope ?? 0
    rope = c.layerSettings[layer].rope.map { c.ropes[$0].makeRoPE(headSize: c.headSize) }
  }

  private var queryColumns: Int { attention.heads * attention.headSize }
  private var keyColumns: Int { attention.keyValueHeads * attention.headSize }
  private var fusedColumns: Int { if case .fused(let layer) = projection { layer.rows } else { 0 } }

  var forwardWidths: [Int] { [fusedColumns] }

  var backwardWidths: [Int] {
    [queryColumns, max(queryColumns, keyColumns), keyColumns, max(fusedColumns, keyNorm == nil ? 0 : keyColumns)]
  }

  struct Activations: ~Copyable, MatrixSet {
    var rawQuery = Matrix(rows: 0, columns: 0)  // [N, H D] before the norm of heads
    var rawKey = Matrix(rows: 0, columns: 0)  // [N, K D]
    var queryMoments = Matrix(rows: 0, columns: 0)  // [N, H or 1]
    var keyMoments = Matrix(rows: 0, columns: 0)  // [N, K or 1]
    var query = Matrix(rows: 0, columns: 0)  // [N, H D]
    var key = Matrix(rows: 0, columns: 0)  // [N, K D]
    var value = Matrix(rows: 0, columns: 0)  // [N, K D]
    var logSumExp = Matrix(rows: 0, columns: 0)  // [N, H]
    var mixed = Matrix(rows: 0, columns: 0)  // [N, H D] values weighted by attention
    var terms = LinearLayer.Activations()

    mutating func forEachMatrix(_ shape: (part: AttentionPart, saved: SavedTerms), _ body: (inout Matrix, Int) -> Void) {
      let (part, saved) = shape
      let (heads, keyValueHeads, hasNorms) = (part.attention.heads, part.attention.keyValueHeads, part.queryNorm != nil)
      body(&rawQuery, hasNorms ? part.queryColumns : 0)
      body(&rawKey, hasNorms ? part.keyColumns : 0)
      body(&queryMoments, hasNorms ? part.normalizesWhole ? 1 : heads : 0)
      body(&keyMoments, hasNorms ? part.normalizesWhole ? 1 : keyValueHeads : 0)
      body(&query, part.queryColumns)
      body(&key, part.keyColumns)
      body(&value, part.keyColumns)
      body(&logSumExp, heads)
      body(&mixed, part.queryColumns)
      terms.forEachMatrix((part.linears, saved), body)
    }
  }

  /// Writes keys and values to the cache. Queries are projected along with them, unless only some rows go on and the layers are separate.
  func prepare(_ x: borrowing Matrix, saving a: inout Activations, _ pass: inout Pass) {
    switch projection {
    case .query: return
    case .fused(let layer):
      var fused = pass.scratch.take(rows: x.rows, columns: layer.rows)
      layer.forward(x, into: &fused, saving: &a.terms, &pass)
      a.query.copyColumns(of: fused, from: 0)
      a.key.copyColumns(of: fused, from: queryColumns)
      a.value.copyColumns(of: fused, from: queryColumns + keyColumns)
      pass.scratch.give(fused)
    case .separate(_, let key, let value) where pass.narrows:
      LinearLayer.forward((key, value), x, into: &a.key, &a.value, saving: &a.terms, &pass)
    case .separate(let query, let key, let value):
      LinearLayer.forward((query, key, value), x, into: &a.query, &a.key, &a.value, saving: &a.terms, &pass)
    }
    rotate(keyNorm, &a.rawKey, &a.keyMoments, &a.key, pass)
    pass.cache.write(&a.key, &a.value, layer: layer, segments: pass.segments, on: pass.compute)
  }

  func keepRows(_ selected: borrowing Buffer<Int32>, count: Int, of a: inout Activations) {
    a.query.keepRows(selected, count: count)
  }

  /// `y = o(attention(q(x), keys, values))`.
  func forward(_ x: borrowing Matrix, into y: inout Matrix, saving a: inout Activations, _ pass: inout Pass) {
    switch projection {
    case .query(let query): query.forward(x, into: &a.query, saving: &a.terms, &pass)
    case .separate(let query, _, _) where pass.narrows: query.forward(x, into: &a.query, saving: &a.terms, &pass)
    case .separate, .fused: break
    }
    rotate(queryNorm, &a.rawQuery, &a.queryMoments, &a.query, pass)
    attention.forward(
      a.query, keys: pass.cache.keys[source], values: pass.cache.values[source], segments: pass.segments, saving: &a.logSumExp,
      into: &a.mixed, on: pass.compute)
    output.forward(a.mixed, into: &y, saving: &a.terms, &pass, needsOutput: pass.needsOutput)
  }

  func backward(
    _ dy: borrowing Matrix, x: borrowing Matrix, saved a: borrowing Activations, into dx: inout Matrix, _ pass: borrowing Pass,
    _ d: inout BackwardWork
  ) {
    let (rows, q, k) = (x.rows, queryColumns, keyColumns)
    var dMixed = d.scratch.take(rows: rows, columns: q)
    output.backward(dy, x: a.mixed, saved: a.terms, dx: &dMixed, pass, &d)
    var dQuery = d.scratch.take(rows: rows, columns: q)
    dQuery.fill(0)
    attention.backward(
      dMixed, y: a.mixed, q: a.query, keys: pass.cache.keys[source], values: pass.cache.values[source], segments: pass.segments,
      saved: a.logSumExp, dq: &dQuery, dk: &d.dKey, dv: &d.dValue, on: pass.compute)
    if let queryNorm {
      rotateBackward(queryNorm, a.rawQuery, a.queryMoments, &dQuery, &dMixed, pass, &d.gradients)
    } else {
      rotateBackward(&dQuery, pass)
    }
    d.scratch.give(dMixed)
    if case .query(let query) = projection {
      query.backward(dQuery, x: x, saved: a.terms, dx: &dx, pass, &d)
      return d.scratch.give(dQuery)
    }
    var dKey = d.scratch.take(rows: rows, columns: k)
    var dValue = d.scratch.take(rows: rows, columns: k)
    prepareBackward(a, &dKey, &dValue, pass, &d)
    switch projection {
    case .query: break
    case .separate(let query, let key, let value):
      value.backward(dValue, x: x, saved: a.terms, dx: &dx, pass, &d)
      key.backward(dKey, x: x, saved: a.terms, dx: &dx, accumulating: true, pass, &d)
      query.backward(dQuery, x: x, saved: a.terms, dx: &dx, accumulating: true, pass, &d)
    case .fused(let layer):
      var dFused = d.scratch.take(rows: rows, columns: layer.rows)
      dFused.setColumns(from: 0, to: dQuery)
      dFused.setColumns(from: q, to: dKey)
      dFused.setColumns(from: q + k, to: dValue)
      layer.backward(dFused, x: x, saved: a.terms, dx: &dx, pass, &d)
      d.scratch.give(dFused)
    }
    d.scratch.give(dQuery)
    d.scratch.give(dKey)
    d.scratch.give(dValue)
  }

  /// ``prepare`` upwards: overwrites `dKey` and `dValue`, the gradients of what the projections gave, with what all layers that attend to these
  /// keys and values have collected. Layers before this one attend to others.
  private func prepareBackward(
    _ a: borrowing Activations, _ dKey: inout Matrix, _ dValue: inout Matrix, _ pass: borrowing Pass, _ d: inout BackwardWork
  ) {
    dKey.copy(d.dKey)
    dValue.copy(d.dValue)
    d.dKey.fill(0)
    d.dValue.fill(0)
    pass.cache.values[layer].backward(&dValue, on: pass.compute)
    pass.cache.keys[layer].backward(&dKey, on: pass.compute)
    guard let keyNorm else { return rotateBackward(&dKey, pass) }
    var work = d.scratch.take(rows: dKey.rows, columns: keyColumns)
    rotateBackward(keyNorm, a.rawKey, a.keyMoments, &dKey, &work, pass, &d.gradients)
    d.scratch.give(work)
  }

  /// Norm of heads and rotary embedding in the order of the family, in place; what the norm reads is kept in `raw`.
  private func rotate(
    _ norm: NormLayer?, _ raw: inout Matrix, _ moments: inout Matrix, _ heads: inout Matrix, _ pass: borrowing Pass
  ) {
    if norm == nil || normalizesRotated { rope?.forward(&heads, by: pass.angles[angles], on: pass.compute) }
    guard let norm else { return }
    swap(&raw, &heads)
    norm.forward(raw, saving: &moments, into: &heads, pass)
    if !normalizesRotated { rope?.forward(&heads, by: pass.angles[angles], on: pass.compute) }
  }

  /// ``rotate`` upwards, in place; `work` has the shape of `dHeads`.
  private func rotateBackward(
    _ norm: NormLayer, _ raw: borrowing Matrix, _ moments: borrowing Matrix, _ dHeads: inout Matrix, _ work: inout Matrix,
    _ pass: borrowing Pass, _ gradients: inout TrainableTensors
  ) {
    if !normalizesRotated { rotateBackward(&dHeads, pass) }
    work.copy(dHeads)
    dHeads.fill(0)
    norm.backward(work, x: raw, saved: moments, dx: &dHeads, pass, &gradients)
    if normalizesRotated { rotateBackward(&dHeads, pass) }
  }

  private func rotateBackward(_ dHeads: inout Matrix, _ pass: borrowing Pass) {
    rope?.backward(&dHeads, by: pass.angles[angles], on: pass.compute)
  }
}
