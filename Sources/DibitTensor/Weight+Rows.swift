internal import DibitQuantization

extension Weight {
  /// A copy of some rows, in the order of `indices`: a head for a few tokens of a large vocabulary. The elements stay as they are stored.
  ///
  /// - Parameter indices: rows of this weight; a row may be named twice.
  package func gatheringRows(_ indices: [Int]) -> Weight {
    for index in indices { require(index >= 0 && index < rows, "Weight.gatheringRows: row \(index) of \(shape)") }
    guard format.grid != nil else {
      let width = columns * format.bits / 8
      var copied: [UInt8] = []
      copied.reserveCapacity(indices.count * width)
      for index in indices { for byte in index * width..<(index + 1) * width { copied.append(elements[byte]) } }
      return Weight(rows: indices.count, columns: columns, format: format, elements: Bytes(SharedBytes(copied)))
    }
    return Self.gathering(indices.map { (self, $0) }, like: self)
  }

  /// The rows of packed weights of one format and width, one weight after the other.
  package static func joining(_ parts: [Weight]) -> Weight {
    guard let first = parts.first, parts.count > 1 else { return parts.first ?? Weight(zerosWithRows: 0, columns: 0) }
    for part in parts {
      require(
        part.columns == first.columns && part.format == first.format, "Weight.joining: \(part.shape), \(part.format) to \(first.shape)")
    }
    return gathering(parts.flatMap { part in (0..<part.rows).map { (part, $0) } }, like: first)
  }

  /// A packed weight of rows of others that are packed as `model` is.
  private static func gathering(_ rows: [(source: Weight, row: Int)], like model: Weight) -> Weight {
    let (grid, columns) = (model.grid("gathering"), model.columns)
    // In each unit of a panel lie the same bytes of every row of it, one after the other.
    func gathered(_ bytes: (Weight) -> Bytes, _ units: Int, _ width: Int) -> Bytes {
      let unit = width * Grid.panelRows
      var copied = [UInt8](repeating: 0, count: Grid.panels(rows: rows.count) * units * unit)
      for (to, (source, from)) in rows.enumerated() {
        let source = bytes(source)
        let a = from / Grid.panelRows * units * unit + from % Grid.panelRows * width
        let b = to / Grid.panelRows * units * unit + to % Grid.panelRows * width
        for index in 0..<units { for byte in 0..<width { copied[b + index * unit + byte] = source[a + index * unit + byte] } }
      }
      return Bytes(SharedBytes(copied))
    }
    return Weight(
      rows: rows.count, columns: columns, format: model.format,
      elements: gathered(\.elements, grid.blocks(columns: columns), Grid.blockBytes / Grid.panelRows),
      scales: gathered(\.scales, grid.groups(columns: columns), 2))
  }

  /// Some rows of a packed weight: in place where they begin a panel, otherwise a copy.
  package func packedRows(_ range: Range<Int>) -> Weight {
    let grid = grid("packedRows")
    require(range.lowerBound >= 0 && range.upperBound <= rows, "Weight.packedRows: \(range) of \(shape)")
    guard range.lowerBound % Grid.panelRows == 0 else { return gatheringRows(Array(range)) }
    func part(_ bytes: Bytes, _ count: (_ rows: Int, _ columns: Int) -> Int) -> Bytes {
      let first = count(range.lowerBound, columns)
      return bytes.slice(first..<first + count(range.count, columns))
    }
    return Weight(
      rows: range.count, columns: columns, format: format, elements: part(elements, grid.codeByteCount),
      scales: part(scales, grid.scaleByteCount))
  }
}

extension Weight {
  /// The F16 scale of a group of a packed row.
  package func scale(row: Int, group index: Int) -> Float16 {
    require(
      row >= 0 && row < rows && index >= 0 && index < grid("scale").groups(columns: columns), "Weight.scale: [\(row), \(index)] of \(shape)"
    )
    let at = scaleOffset(row: row, group: index)
    return Float16(bitPattern: UInt16(scales[at]) | UInt16(scales[at + 1]) << 8)
  }

  /// Gives a packed weight these F16 scales, `[rows, groups]`.
  package mutating func setScales(_ values: Span<Float16>) {
    let groups = grid("setScales").groups(columns: columns)
    require(values.count == rows * groups, "Weight.setScales: \(values.count) scales for \(shape), \(format)")
    var packed = [UInt8](repeating: 0, count: scales.count)
    for index in values.indices {
      let at = scaleOffset(row: index / groups, group: index % groups)
      (packed[at], packed[at + 1]) = (UInt8(truncatingIfNeeded: values[index].bitPattern), UInt8(values[index].bitPattern >> 8))
    }
    self = Weight(rows: rows, columns: columns, format: format, elements: elements, scales: Bytes(SharedBytes(packed)))
  }

  /// Gives a packed weight the scales of another one of the same shape and format.
  package mutating func setScales(of other: Weight) {
    require(
      other.format == format && other.rows == rows && other.columns == columns,
      "Weight.setScales: those of \(other.shape), \(other.format) for \(shape), \(format)")
    self = Weight(rows: rows, columns: columns, format: format, elements: elements, scales: other.scales)
  }

  private func scaleOffset(row: Int, group index: Int) -> Int {
    let groups = grid("scale").groups(columns: columns)
    return ((row / Grid.panelRows * groups + index) * Grid.panelRows + row % Grid.panelRows) * 2
  }

  /// The grid, which `caller` needs.
  private func grid(_ caller: String) -> Grid {
    guard let grid = format.grid else { trap("Weight.\(caller): the format is \(format), not packed", file: #fileID, line: #line) }
    return grid
  }
}
