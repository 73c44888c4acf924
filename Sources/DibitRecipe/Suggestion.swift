/// The one of `names` that `name` was probably meant to be: the only one that begins with it, or the nearest by edit distance, at most two
/// edits away; nil where there is none.
package func suggestion(for name: String, among names: some Sequence<String>) -> String? {
  let longer = names.filter { $0.hasPrefix(name) }
  if name.utf8.count > 2, longer.count == 1 { return longer.first }
  let nearest = names.map { (name: $0, distance: editDistance($0, name)) }.min { $0.distance < $1.distance }
  guard let nearest, nearest.distance <= 2, nearest.distance < name.utf8.count else { return nil }
  return nearest.name
}

/// The edit distance of Damerau and Levenshtein: bytes are inserted, removed or replaced, and neighbours change places.
func editDistance(_ left: String, _ right: String) -> Int {
  let (a, b) = (Array(left.utf8), Array(right.utf8))
  // Rows of the table for one byte less and two bytes less of `a`.
  var (before, previous) = ([Int](), Array(0...b.count))
  for i in 0..<a.count {
    var row = [i + 1]
    for j in 0..<b.count {
      var best = min(previous[j] + (a[i] == b[j] ? 0 : 1), previous[j + 1] + 1, row[j] + 1)
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, before[j - 1] + 1) }
      row.append(best)
    }
    (before, previous) = (previous, row)
  }
  return previous[b.count]
}
