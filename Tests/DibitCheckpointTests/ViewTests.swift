import DibitTensor
import Testing

@testable import DibitCheckpoint

/// Tensors seen in another order than they are stored.
@Suite struct ViewTests {
  private let scratch = Scratch()

  private func checkpoint(_ shape: [Int], _ dtype: DType = .f32) throws -> Checkpoint {
    let values = (0..<shape.reduce(1, *)).map(Float.init)
    var writer = try SafetensorsWriter(path: scratch("f"), tensors: [(name: "a", dtype: dtype, shape: shape)], metadata: [])
    try writer.append(floats: values.span, as: dtype)
    _ = try writer.finalize()
    return try Checkpoint.open(scratch("f"))
  }

  /// What the view means, element by element, straight from its definition.
  private func expected(_ view: TensorView) -> [Float] {
    var result: [Float] = []
    let sizes = view.order.map { view.split[$0] }
    for linear in 0..<view.split.reduce(1, *) {
      var rest = linear
      var at = [Int](repeating: 0, count: view.split.count)
      for axis in sizes.indices.reversed() {
        at[view.order[axis]] = rest % sizes[axis]
        rest /= sizes[axis]
      }
      result.append(Float(zip(at, view.split).reduce(0) { $0 * $1.1 + $1.0 }))
    }
    return result
  }

  static let views: [(stored: [Int], view: TensorView)] = [
    ([3, 5], TensorView("v", from: "a", split: [3, 5], order: [1, 0], shape: [5, 3])),
    ([130, 70], TensorView("v", from: "a", split: [130, 70], order: [1, 0], shape: [70, 130])),
    ([12, 5], TensorView("v", from: "a", split: [2, 3, 2, 5], order: [0, 2, 1, 3], shape: [12, 5])),
    ([12, 5], TensorView("v", from: "a", split: [2, 3, 2, 5], order: [1, 0, 2, 3], shape: [12, 5])),
    ([4, 6, 5], TensorView("v", from: "a", split: [4, 6, 5], order: [0, 2, 1], shape: [20, 6])),
    ([4, 6, 5], TensorView("v", from: "a", split: [24, 5], order: [1, 0], shape: [5, 24])),
    ([12], TensorView("v", from: "a", split: [2, 3, 2], order: [1, 0, 2], shape: [12])),
    ([4, 6], TensorView("v", from: "a", split: [24], order: [0], shape: [24])),
    ([4, 6], TensorView("v", from: "a", split: [24], order: [0], shape: [24, 1])),
    ([24], TensorView("v", from: "a", split: [4, 6], order: [0, 1], shape: [4, 6])),
  ]

  @Test(arguments: views.indices, [DType.f32, .f16, .bf16])
  func isReadAsDefined(_ index: Int, _ dtype: DType) throws {
    let (stored, view) = Self.views[index]
    let viewed = try checkpoint(stored, stored == [130, 70] ? .f32 : dtype).viewed([view])
    let info = try viewed.tensor("v", shape: view.shape)
    let expected = expected(view)
    #expect(try viewed.readVector("v") == expected)
    #expect(try viewed.bytes("v") == nil)
    var matrix = Matrix(rows: info.rows, columns: info.columns)
    let part = info.rows / 3..<info.rows
    try viewed.readRows("v", rows: part, into: &matrix)
    viewed.release("v", rows: part)
    #expect((0..<part.count * info.columns).allSatisfy { matrix.span[$0] == expected[part.lowerBound * info.columns + $0] })
  }

  @Test func renamesWithoutCopying() throws {
    let viewed = try checkpoint([2, 3]).viewed([TensorView("b", from: "a"), TensorView("c", from: "a")])
    #expect(viewed.tensorNames == ["b", "c"] && viewed.info("a") == nil)
    #expect(try viewed.bytes("b")?.count == 24)
    #expect(try viewed.readVector("c") == [0, 1, 2, 3, 4, 5])
  }

  @Test func refusesWhatDoesNotFit() throws {
    let checkpoint = try checkpoint([3, 4])
    let unfit = [
      TensorView("v", from: "a", split: [3, 5], order: [1, 0], shape: [5, 3]),
      TensorView("v", from: "a", split: [3, 4], order: [1, 1], shape: [4, 3]),
      TensorView("v", from: "a", split: [3, 4], order: [0], shape: [3, 4]),
      TensorView("v", from: "a", split: [3, 4], order: [1, 0], shape: [6, 2]),
      TensorView("v", from: "a", split: [3, 4], order: [1, 0], shape: [5, 3]),
      TensorView("v", from: "a", split: [-3, -4], order: [1, 0], shape: [4, 3]),
      TensorView("v", from: "a", split: [1 << 62, 4], order: [1, 0], shape: [4, 1 << 62]),
    ]
    for view in unfit {
      #expect(throws: CheckpointError.unfitView(tensor: "a", file: scratch("f"), found: [3, 4], expected: view.split)) {
        try checkpoint.viewed([view])
      }
    }
    #expect(throws: CheckpointError.unknownTensor("z", path: scratch("f"))) { try checkpoint.viewed([TensorView("v", from: "z")]) }
    #expect(throws: CheckpointError.duplicateTensor("v", files: [scratch("f"), scratch("f")])) {
      try checkpoint.viewed([TensorView("v", from: "a"), TensorView("v", from: "a")])
    }
  }
}
