internal import DibitFailure
internal import DibitCheckpoint
internal import DibitModel

extension ModelSource {
  /// The checkpoint with every parameter under the name that the decoder uses, a row for each output; all other tensors as they are.
  ///
  /// Families that store matrices by input (GPT-2) or heads in turn (GPT-NeoX) are put in order here, once, for everything that reads.
  static func ordered(_ checkpoint: Checkpoint, _ configuration: ModelConfiguration, holdsRows: Bool, path: String) throws(ModelStoreError)
    -> Checkpoint
  {
    var views: [TensorView] = []
    var taken = Set<[UInt8]>()
    var isOrdered = true
    for declaration in DecoderWeights.declarations(of: configuration).parameters {
      let name = declaration.name
      let layout = holdsRows ? .rows : name.layout
      let source = ([name.tensor] + name.alternatives).first { checkpoint.info($0) != nil }
      guard let source, let info = checkpoint.info(source), taken.insert(Array(source.utf8)).inserted else { continue }
      guard let view = layout.view(name.tensor, from: source, rows: declaration.rows, columns: declaration.columns) else {
        if source != name.tensor { isOrdered = false }
        views.append(TensorView(name.tensor, from: source))
        continue
      }
      let expected = layout.shape(rows: declaration.rows, columns: declaration.columns)
      guard info.shape == expected else { throw .model(.shapeMismatch(tensor: source, expected: expected, found: info.shape), path: path) }
      isOrdered = false
      views.append(view)
    }
    guard !isOrdered else { return checkpoint }
    for name in checkpoint.tensorNames where !taken.contains(Array(name.utf8)) { views.append(TensorView(name, from: name)) }
    return try rethrow(as: ModelStoreError.checkpoint, checkpoint.viewed(views))
  }
}

extension ParameterLayout {
  /// The view that puts a stored tensor into rows; nil where it lies in rows.
  func view(_ name: String, from source: String, rows: Int, columns: Int) -> TensorView? {
    switch self {
    case .rows: return nil
    case .transposed:
      return rows == 1 ? nil : TensorView(name, from: source, split: [columns, rows], order: [1, 0], shape: [rows, columns])
    case .interleavedHeads(let heads, let parts):
      let outputs = rows == 1 ? columns : rows
      let inner = rows == 1 ? [] : [columns]
      return TensorView(
        name, from: source, split: [heads, parts, outputs / (heads * parts)] + inner, order: [1, 0, 2] + (rows == 1 ? [] : [3]),
        shape: [outputs] + inner)
    }
  }
}
