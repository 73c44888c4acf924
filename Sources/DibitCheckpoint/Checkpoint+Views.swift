internal import DibitTensor

extension Checkpoint {
  /// The tensors under the names and in the orders that `views` give; those that no view names are left out.
  ///
  /// - Throws: ``CheckpointError`` when a source is missing, a name is given twice, or a view does not fit its tensor.
  package func viewed(_ views: [TensorView]) throws(CheckpointError) -> Checkpoint {
    var locations: [(name: String, location: Location)] = []
    for view in views {
      let location = try location(of: view.source)
      guard view.shape != nil else {
        locations.append((name: view.name, location: location))
        continue
      }
      guard location.order == nil, let order = ElementOrder(view, stored: location.info) else {
        throw .unfitView(tensor: view.source, file: location.info.file, found: location.info.shape, expected: view.split)
      }
      let info = TensorInfo(
        dtype: location.info.dtype, shape: order.shape, storage: location.info.storage, byteCount: location.info.byteCount,
        file: location.info.file)
      locations.append(
        (name: view.name, location: Location(container: location.container, index: location.index, info: info, order: order)))
    }
    return try Checkpoint(path: path, format: format, containers: containers, locations: locations)
  }

  /// Fills `target` with rows of a tensor as floats.
  func read(_ location: Location, rows: Range<Int>, into target: inout MutableSpan<Float>) throws(CheckpointError) {
    let container = containers[location.container]
    guard let order = location.order else { return try container.readRows(location.index, rows: rows, into: &target) }
    if order.rowsAreContiguous, order.columnOffsets.count % max(order.storedColumns, 1) == 0 {
      try readWholeRows(container, location.index, order, rows, into: &target)
    } else if let bytes = container.plainBytes(location.index) {
      Gather.gather(bytes, location.info.dtype, order, rows: rows, into: &target)
    } else {
      let values = try whole.values(container: location.container, index: location.index, count: location.info.count) {
        all throws(CheckpointError) in try container.readRows(location.index, rows: 0..<order.storedRows, into: &all)
      }
      Gather.gather(values.span, order, rows: rows, into: &target)
    }
  }

  /// Each row of the view is one or more whole stored rows: neighbours are read together.
  private func readWholeRows(
    _ container: any TensorContainer, _ index: Int, _ order: ElementOrder, _ rows: Range<Int>, into target: inout MutableSpan<Float>
  ) throws(CheckpointError) {
    let columns = order.columnOffsets.count
    let storedRows = columns / max(order.storedColumns, 1)
    var row = rows.lowerBound
    while row < rows.upperBound {
      var end = row + 1
      while end < rows.upperBound, order.rowStarts[end] == order.rowStarts[end - 1] + columns { end += 1 }
      let first = order.rowStarts[row] / max(order.storedColumns, 1)
      var part = target._mutatingExtracting((row - rows.lowerBound) * columns..<(end - rows.lowerBound) * columns)
      try container.readRows(index, rows: first..<first + (end - row) * storedRows, into: &part)
      row = end
    }
  }
}
