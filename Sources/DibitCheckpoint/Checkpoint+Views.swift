internal import DibitTensor

extension Checkpoint {
  /// The tensors under the names and in the orders that `views` give; those that no view names are left out.
  ///
  /// - Throws: ``CheckpointError`` when a source is missing, a name is given twice, or a view does not fit its tensor.
  package func viewed(_ views: [TensorView]) throws(CheckpointError) -> Checkpoint {
    var places: [(name: String, place: Place)] = []
    for view in views {
      let place = try place(of: view.source)
      guard view.shape != nil else {
        places.append((name: view.name, place: place))
        continue
      }
      guard place.order == nil, let order = ElementOrder(view, stored: place.info) else {
        throw .unfitView(tensor: view.source, file: place.info.file, found: place.info.shape, expected: view.split)
      }
      let info = TensorInfo(
        dtype: place.info.dtype, shape: order.shape, storage: place.info.storage, byteCount: place.info.byteCount, file: place.info.file)
      places.append((name: view.name, place: Place(container: place.container, index: place.index, info: info, order: order)))
    }
    return try Checkpoint(path: path, format: format, containers: containers, places: places)
  }

  /// Fills `target` with rows of a place as floats.
  func read(_ place: Place, rows: Range<Int>, into target: inout MutableSpan<Float>) throws(CheckpointError) {
    let container = containers[place.container]
    guard let order = place.order else { return try container.readRows(place.index, rows: rows, into: &target) }
    if order.rowsAreContiguous, order.columnOffsets.count % max(order.storedColumns, 1) == 0 {
      try readWholeRows(container, place.index, order, rows, into: &target)
    } else if let bytes = container.plainBytes(place.index) {
      Gather.gather(bytes, place.info.dtype, order, rows: rows, into: &target)
    } else {
      let values = try whole.values(container: place.container, index: place.index, count: place.info.count) {
        all throws(CheckpointError) in try container.readRows(place.index, rows: 0..<order.storedRows, into: &all)
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
