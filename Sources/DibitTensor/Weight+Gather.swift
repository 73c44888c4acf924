extension Weight {
  /// A copy of some rows, in the order of `indices`: a head for a few tokens of a large vocabulary. The elements stay as they are stored.
  ///
  /// - Parameter indices: rows of this weight; a row may be named twice.
  package func gatheringRows(_ indices: [Int]) -> Weight {
    for index in indices { require(index >= 0 && index < rows, "Weight.gatheringRows: row \(index) of \(shape)") }
    guard case .grid(let bits, let group) = format else {
      let width = columns * (format == .f32 ? 4 : 2)
      var copied: [UInt8] = []
      copied.reserveCapacity(indices.count * width)
      for index in indices { for byte in index * width..<(index + 1) * width { copied.append(elements[byte]) } }
      return Weight(rows: indices.count, columns: columns, format: format, elements: Bytes(SharedBytes(copied)))
    }
    // In each unit of a panel lie the same bytes of every row of it, one after the other.
    let panels = Self.panels(rows: indices.count)
    func gathered(_ source: Bytes, _ units: Int, _ width: Int) -> [UInt8] {
      let unit = width * Self.panelRows
      var copied = [UInt8](repeating: 0, count: panels * units * unit)
      for (to, from) in indices.enumerated() {
        let a = from / Self.panelRows * units * unit + from % Self.panelRows * width
        let b = to / Self.panelRows * units * unit + to % Self.panelRows * width
        for index in 0..<units { for byte in 0..<width { copied[b + index * unit + byte] = source[a + index * unit + byte] } }
      }
      return copied
    }
    let codes = gathered(elements, Self.blocks(columns: columns, bits: bits), Self.blockBytes / Self.panelRows)
    let gatheredScales = gathered(scales, Self.groups(columns: columns, group: group), 2)
    return Weight(
      rows: indices.count, columns: columns, format: format, elements: Bytes(SharedBytes(codes)),
      scales: Bytes(SharedBytes(gatheredScales)))
  }
}
