extension Weight {
  /// Some rows of a packed weight: in place where they begin a panel, otherwise a copy.
  package func packedRows(_ range: Range<Int>) -> Weight {
    guard case .grid(let bits, let group) = format else {
      trap("Weight.packedRows: the format is \(format), not packed", file: #fileID, line: #line)
    }
    require(range.lowerBound >= 0 && range.upperBound <= rows, "Weight.packedRows: \(range) of \(shape)")
    let blocks = Self.blocks(columns: columns, bits: bits)
    let groups = Self.groups(columns: columns, group: group)
    let (codePanel, scalePanel) = (blocks * Self.blockBytes, groups * Self.panelRows * 2)
    let panels = Self.panels(rows: range.count)
    if range.lowerBound % Self.panelRows == 0 {
      let first = range.lowerBound / Self.panelRows
      return Weight(
        rows: range.count, columns: columns, format: format, elements: elements.slice(first * codePanel..<(first + panels) * codePanel),
        scales: scales.slice(first * scalePanel..<(first + panels) * scalePanel))
    }
    var codeBytes = [UInt8](repeating: 0, count: panels * codePanel)
    var scaleBytes = [UInt8](repeating: 0, count: panels * scalePanel)
    /// Copies what a row has in each of `count` units of `width` bytes for each row.
    func copy(_ source: Bytes, _ destination: inout [UInt8], _ panel: Int, _ count: Int, _ width: Int) {
      let unit = width * Self.panelRows
      for (to, from) in range.enumerated() {
        let a = from / Self.panelRows * panel + from % Self.panelRows * width
        let b = to / Self.panelRows * panel + to % Self.panelRows * width
        for index in 0..<count { for byte in 0..<width { destination[b + index * unit + byte] = source[a + index * unit + byte] } }
      }
    }
    copy(elements, &codeBytes, codePanel, blocks, Self.blockBytes / Self.panelRows)
    copy(scales, &scaleBytes, scalePanel, groups, 2)
    return Weight(
      rows: range.count, columns: columns, format: format, elements: Bytes(SharedBytes(codeBytes)), scales: Bytes(SharedBytes(scaleBytes)))
  }

  /// The F16 scale of a group of a packed row.
  package func scale(row: Int, group index: Int) -> Float16 {
    guard case .grid(_, let group) = format else { trap("Weight.scale: the format is \(format), not packed", file: #fileID, line: #line) }
    let groups = Self.groups(columns: columns, group: group)
    require(row >= 0 && row < rows && index >= 0 && index < groups, "Weight.scale: [\(row), \(index)] of \(shape)")
    let at = ((row / Self.panelRows * groups + index) * Self.panelRows + row % Self.panelRows) * 2
    return Float16(bitPattern: UInt16(scales[at]) | UInt16(scales[at + 1]) << 8)
  }
}
