internal import DibitQuantization
internal import DibitTensor

extension KernelCheck {
  /// The names of a weight's formats, with groups that are shorter than a row, longer, and a row.
  private static let formats: [(name: String, format: WeightFormat)] =
    [("f32", .f32), ("f16", .f16), ("bf16", .bf16)]
    + GridLevels.all.flatMap { levels in
      [64, 32, nil].map { group in ("\(levels.name)/\(group.map { "\($0)" } ?? "row")", .grid(Grid(levels, group: group))) }
    }

  /// Products with weights of every format, and what packs them.
  static let linear: [KernelCheck] =
    formats.map(matvec) + formats.map(tiles) + formats.map(expand) + GridLevels.all.map(quantize) + GridLevels.all.map(pack)
    + GridLevels.all.map(roundBackward) + GridLevels.all.map(calibrate) + [
      gemmNT, gemmNN, gemmTN, backward,
    ]
    + GridLevels.all.map(backwardBFloat) + [floatsBFloat, adapterBFloat]

  /// A few rows, as in decoding: limited by the bytes of the weight. The shape is rows of x, outputs and inputs.
  private static func matvec(_ name: String, _ format: WeightFormat) -> KernelCheck {
    // 64 MB of weights: few caches hold them.
    KernelCheck(
      "matrix-vector \(name)", format.grid != nil ? ["quantize_activations", "grid_matvec"] : ["matvec"],
      awkward: [[1, 1, 16], [1, 70, 64], [2, 65, 100], [3, 3, 257], [4, 130, 192], [1, 5, 1000]], large: [1, 65_536 / format.bits, 8192]
    ) { run, shape in
      let weight = run.weight(shape[1], shape[2], format)
      let x = run.matrix(shape[0], shape[2])
      var y = Matrix(rows: shape[0], columns: shape[1])
      let compute = run.compute
      run.measure(bytes: weight.byteCount) { Linear.forward(x, weight: weight, into: &y, on: compute) }
      run.record(y)
    }
  }

  /// Many rows, as in a prompt: limited by arithmetic.
  private static func tiles(_ name: String, _ format: WeightFormat) -> KernelCheck {
    KernelCheck(
      "matrix-matrix \(name)", format.grid != nil ? ["grid_matmul"] : ["expand", "gemm_nt"],
      awkward: [[5, 1, 16], [7, 65, 100], [33, 70, 257]], large: [128, 1024, 1024]
    ) { run, shape in
      let weight = run.weight(shape[1], shape[2], format)
      let x = run.matrix(shape[0], shape[2])
      var y = Matrix(rows: shape[0], columns: shape[1])
      let compute = run.compute
      run.measure(operations: 2 * shape[0] * shape[1] * shape[2]) { Linear.forward(x, weight: weight, into: &y, on: compute) }
      run.record(y)
    }
  }

  /// Rows of a table. The shape is rows of the table, columns and tokens.
  private static func expand(_ name: String, _ format: WeightFormat) -> KernelCheck {
    KernelCheck("embedding \(name)", ["expand"], awkward: [[1, 16, 1], [9, 100, 4], [30, 257, 11]], large: [8192, 2048, 2048]) {
      run, shape in
      let weight = run.weight(shape[0], shape[1], format)
      let ids = (0..<shape[2]).map { _ in Int32(run.number(below: shape[0])) }
      var y = Matrix(rows: shape[2], columns: shape[1])
      let compute = run.compute
      run.measure(bytes: shape[2] * (weight.byteCount / shape[0] + 4 * shape[1])) {
        Embedding.forward(ids.span, weight: weight, into: &y, on: compute)
      }
      run.record(y)
    }
  }

  /// Scales and codes. The shape is rows, columns and group.
  private static func quantize(_ levels: GridLevels) -> KernelCheck {
    KernelCheck(
      "quantise \(levels.name)", ["fit_scales", "choose_codes"],
      awkward: [[1, 16, 16], [3, 100, 32], [5, 257, 64], [2, 77, 77], [65, 640, 128]],
      large: [1024, 2048, 64]
    ) { run, shape in
      let x = run.matrix(shape[0], shape[1])
      var error = GridQuantization.Error()
      var packed: (codes: [UInt8], scales: [UInt8]) = ([], [])
      let compute = run.compute
      run.measure(bytes: 4 * x.count) {
        error = GridQuantization.Error()
        packed = GridQuantization.encode(x, grid: Grid(levels, group: shape[2]), error: &error, on: compute)
      }
      run.record((packed.codes + packed.scales).map { UInt32($0) })
      run.record(error.signal)
      run.record(error.noise)
    }
  }

  /// Codes that were chosen elsewhere. The shape is rows and columns.
  private static func pack(_ levels: GridLevels) -> KernelCheck {
    KernelCheck("pack \(levels.name)", ["pack_codes"], awkward: [[1, 16], [5, 100], [33, 257]], large: [1024, 2048]) { run, shape in
      let codes = (0..<shape[0] * shape[1]).map { _ in UInt8(run.number(below: 1 << levels.codeBits)) }
      var packed = Weight(zerosWithRows: shape[0], columns: shape[1], format: .grid(Grid(levels, group: nil)))
      let compute = run.compute
      run.measure(bytes: codes.count) { GridQuantization.pack(codes.span, into: &packed, on: compute) }
      run.record(packed.elements.array.map { UInt32($0) })
    }
  }

  /// Gradients through the choice of levels. The shape is rows, columns and group.
  private static func roundBackward(_ levels: GridLevels) -> KernelCheck {
    KernelCheck(
      "round backward \(levels.name)", ["round_backward"], awkward: [[1, 16, 16], [3, 100, 32], [21, 257, 64], [2, 77, 77]],
      large: [1024, 2048, 64]
    ) { run, shape in
      let grid = Grid(levels, group: shape[2])
      let packed = run.weight(shape[0], shape[1], .grid(grid))
      let weight = run.weight(shape[0], shape[1], .f32)
      var gradient = run.matrix(shape[0], shape[1])
      var scales = Matrix(rows: shape[0], columns: grid.groups(columns: shape[1]))
      let compute = run.compute
      run.measure(bytes: 12 * gradient.count) {
        GridRounding.backward(weight, packed: packed, dWeight: &gradient, dLogScales: &scales, on: compute)
      }
      run.record(gradient)
      run.record(scales)
    }
  }

  /// Scales and codes by what inputs are like. The shape is rows, columns and group.
  private static func calibrate(_ levels: GridLevels) -> KernelCheck {
    KernelCheck(
      "calibrate \(levels.name)",
      ["fit_important", "round_feedback", "round_descent", "refit_scales", "moment_energies", "solve_factored"],
      awkward: [[1, 16, 16], [3, 96, 32], [18, 77, 77], [150, 290, 290]], large: [64, 576, 64]
    ) { run, shape in
      let x = run.matrix(2 * shape[1], shape[1])
      var weight = Weight(zerosWithRows: shape[0], columns: shape[1])
      let values = run.matrix(shape[0], shape[1]).values
      weight.withMutableValues { span in for index in span.indices { span[index] = values[index] } }
      let compute = run.compute
      var moments = SecondMoments(columns: shape[1], isCompared: true, outputs: shape[0])
      moments.add(x, lacking: run.matrix(2 * shape[1], shape[1]), on: compute)
      moments.add(x, missing: run.matrix(2 * shape[1], shape[0]), on: compute)
      var packed = Weight(zerosWithRows: shape[0], columns: shape[1], format: .grid(Grid(levels, group: shape[2])))
      var lost = GridQuantization.Error()
      run.measure(operations: 6 * shape[0] * shape[1] * shape[1]) {
        guard let corrected = CalibratedRounding.corrected(weight, by: moments, alpha: 0.5, on: compute),
          let rounding = CalibratedRounding.make(moments: moments.products, for: [packed.format], on: compute)
        else { return }
        CalibratedRounding.fitScales(of: corrected, importance: moments.energies.sums.span, into: &packed, on: compute)
        lost = rounding.chooseCodes(of: corrected, into: &packed, on: compute)
      }
      run.record((lost.noise / lost.signal).squareRoot())
    }
  }

  /// Float products; the shape is m, n and k.
  private static let gemmNT = KernelCheck(
    "gemm NT", ["gemm_nt"], awkward: [[1, 1, 1], [3, 65, 37], [130, 7, 257]], large: [256, 512, 512]
  ) {
    run, shape in
    let a = run.matrix(shape[0], shape[2])
    let b = run.matrix(shape[1], shape[2])
    var y = run.matrix(shape[0], shape[1])
    let compute = run.compute
    run.measure(operations: 2 * shape[0] * shape[1] * shape[2]) {
      Gemm.nt(a, b, scale: 0.5, accumulating: true, into: &y, on: compute)
    }
    run.record(y)
  }

  private static let gemmNN = KernelCheck(
    "gemm NN", ["gemm_nn"], awkward: [[1, 1, 1], [3, 65, 37], [130, 7, 257]], large: [256, 512, 512]
  ) {
    run, shape in
    let a = run.matrix(shape[0], shape[2])
    let b = run.matrix(shape[2], shape[1])
    var y = run.matrix(shape[0], shape[1])
    let compute = run.compute
    run.measure(operations: 2 * shape[0] * shape[1] * shape[2]) { Gemm.nn(a, b, scale: 0.5, into: &y, on: compute) }
    run.record(y)
  }

  private static let gemmTN = KernelCheck(
    "gemm TN", ["gemm_nn"], awkward: [[1, 1, 1], [3, 65, 37], [130, 7, 257]], large: [256, 512, 512]
  ) {
    run, shape in
    let a = run.matrix(shape[2], shape[0])
    let b = run.matrix(shape[2], shape[1])
    var y = run.matrix(shape[0], shape[1])
    let compute = run.compute
    run.measure(operations: 2 * shape[0] * shape[1] * shape[2]) { Gemm.tn(a, b, scale: 0.5, into: &y, on: compute) }
    run.record(y)
  }

  private static let backward = KernelCheck(
    "linear backward 2-bit/64", ["expand", "gemm_nn"], awkward: [[1, 3, 64], [5, 70, 100], [9, 300, 257]], large: [128, 1024, 1024]
  ) { run, shape in
    let weight = run.weight(shape[1], shape[2], .grid(bits: 2, group: 64))
    let dy = run.matrix(shape[0], shape[1])
    var dx = run.matrix(shape[0], shape[2])
    let compute = run.compute
    run.measure(operations: 2 * shape[0] * shape[1] * shape[2]) { Linear.backward(dy, weight: weight, dx: &dx, on: compute) }
    run.record(dx)
  }

  /// Gradients and weights of BF16: tiers round the sums of products in their own ways.
  private static func backwardBFloat(_ levels: GridLevels) -> KernelCheck {
    KernelCheck(
      "linear backward \(levels.name)/64, bf16", ["round_bfloat", "pair_rows", "pair_matmul"], agreement: .within(1e-5),
      awkward: [[1, 3, 64], [5, 70, 100], [9, 300, 257]], large: [128, 1024, 1024]
    ) { run, shape in
      let weight = run.weight(shape[1], shape[2], .grid(Grid(levels, group: 64)))
      let dy = run.matrix(shape[0], shape[1])
      var rows = BFloatRows(capacity: shape[0], columns: shape[1])
      var dx = Matrix(rows: shape[0], columns: shape[2])
      let compute = run.compute
      run.measure(operations: 2 * shape[0] * shape[1] * shape[2]) {
        rows.round(dy, on: compute)
        Linear.backward(rows, weight: weight, dx: &dx, accumulating: false, on: compute)
      }
      run.record(dx)
    }
  }

  /// Forward and the weight's gradient; the shape is rows, outputs and inputs.
  private static let floatsBFloat = KernelCheck(
    "linear f32, bf16", ["round_bfloat", "pair_rows", "pair_columns", "pair_matmul"], agreement: .within(1e-5),
    awkward: [[1, 3, 64], [5, 70, 101], [130, 17, 300]], large: [512, 1024, 1024]
  ) { run, shape in
    let x = run.matrix(shape[0], shape[2])
    let dy = run.matrix(shape[0], shape[1])
    let weight = run.weight(shape[1], shape[2], .f32)
    var rows = BFloatRows(capacity: shape[0], columns: shape[2])
    var pairs = BFloatPairs(capacity: shape[0], columns: shape[2])
    var y = Matrix(rows: shape[0], columns: shape[1])
    var dWeight = run.matrix(shape[1], shape[2])
    let compute = run.compute
    run.measure(operations: 4 * shape[0] * shape[1] * shape[2]) {
      rows.round(x, on: compute)
      unsafe BFloatProducts.nt(rows.view, weight.kernelView, into: &y, on: compute)
      pairs.round(x, factor: 1, on: compute)
      Linear.backwardWeight(dy, pairs, dWeight: &dWeight, on: compute)
    }
    run.record(y)
    run.record(dWeight)
  }

  /// The shape is rows, outputs, inputs and rank.
  private static let adapterBFloat = KernelCheck(
    "lora backward, bf16", ["round_bfloat", "pair_rows", "pair_matmul"], agreement: .within(1e-2),
    awkward: [[1, 3, 64, 1], [5, 70, 100, 7], [130, 65, 257, 66]], large: [512, 1024, 1024, 32]
  ) { run, shape in
    let dy = run.matrix(shape[0], shape[1])
    let x = run.matrix(shape[0], shape[2])
    let a = run.matrix(shape[3], shape[2])
    let b = run.matrix(shape[1], shape[3])
    let h = run.matrix(shape[0], shape[3])
    var da = run.matrix(shape[3], shape[2])
    var db = run.matrix(shape[1], shape[3])
    var dx = run.matrix(shape[0], shape[2])
    var dh = Matrix(rows: shape[0], columns: shape[3])
    var work = BFloatWork(capacity: shape[0], columns: shape[1], rank: shape[3])
    let compute = run.compute
    work.rows.round(dy, on: compute)
    run.measure(operations: 4 * shape[0] * (shape[1] + shape[2]) * shape[3]) {
      LoRA.backwardB(dy, scale: 0.5, saved: h, work: &work, db: &db, on: compute)
      LoRA.backwardA(x: x, b: b, scale: 0.5, work: &work, dh: &dh, da: &da, on: compute)
      LoRA.backwardInput(work, a: a, accumulating: true, dx: &dx, on: compute)
    }
    run.record(da)
    run.record(db)
    run.record(dx)
  }
}

extension GridLevels {
  /// "2-bit", "2-bit full" or "2-bit trellis".
  fileprivate var name: String { "\(bits)-bit" + (isFullRange ? " full" : isTrellis ? " trellis" : "") }
}
