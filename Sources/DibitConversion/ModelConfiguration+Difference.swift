internal import DibitModel

extension ModelConfiguration {
  /// The first property in which another configuration computes other numbers, with both values; nil when they compute the same.
  ///
  /// Not compared are the longest context, the name of the family, whether norms store the one that Gemma adds, and how rotary frequencies
  /// came about: only the frequencies count.
  func difference(from other: ModelConfiguration) -> String? {
    var same = other
    (same.family, same.contextLength, same.layerSettings, same.ropes) = (family, contextLength, layerSettings, ropes)
    if norm == .rms, other.norm == .rmsPlusOne { same.norm = .rms }
    if self != same {
      for (mine, theirs) in zip(Mirror(reflecting: self).children, Mirror(reflecting: same).children)
      where "\(mine.value)" != "\(theirs.value)" { return "\(mine.label ?? "a property") \(theirs.value)" }
    }
    for layer in 0..<layers {
      let (mine, theirs) = (layerSettings[layer], other.layerSettings[layer])
      // A window as long as the context hides nothing.
      let windows = [mine.window, theirs.window].map { $0.flatMap { $0 < min(contextLength, other.contextLength) ? $0 : nil } }
      if windows[0] != windows[1] { return "the window of layer \(layer), \(theirs.window.map { "\($0)" } ?? "none")" }
      if !sameRotation(mine.rope.map { ropes[$0] }, theirs.rope.map { other.ropes[$0] }) { return "the rotary embedding of layer \(layer)" }
    }
    return nil
  }

  private func sameRotation(_ mine: RotaryEmbedding?, _ theirs: RotaryEmbedding?) -> Bool {
    guard let mine, let theirs else { return mine == nil && theirs == nil }
    guard mine.dimensions == theirs.dimensions, mine.pairing == theirs.pairing,
      abs(mine.attentionFactor - theirs.attentionFactor) <= 1e-6 * abs(theirs.attentionFactor)
    else { return false }
    // The format keeps numbers as F32.
    return zip(mine.frequencies, theirs.frequencies).allSatisfy { abs($0 - $1) <= 1e-6 * abs($1) }
  }
}
