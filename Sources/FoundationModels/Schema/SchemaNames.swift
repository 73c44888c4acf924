/// Gives schemas names that differ.
enum SchemaNames {
  /// Returns the names as they are where they differ. Types of one name get their module and context; others a number.
  static func distinct(_ entries: [(name: String, type: (any Generable.Type)?)]) -> [String] {
    var counts: [String: Int] = [:]
    for entry in entries { counts[entry.name, default: 0] += 1 }
    var taken = Set(entries.lazy.map(\.name).filter { counts[$0] == 1 })
    var suffixes: [String: Int] = [:]
    return entries.map { entry in
      if counts[entry.name] == 1 { return entry.name }
      let base = entry.type.map { qualified(String(reflecting: $0)) } ?? entry.name
      var name = base
      var suffix = suffixes[base] ?? 1
      while !taken.insert(name).inserted {
        suffix += 1
        name = "\(base)_\(suffix)"
      }
      suffixes[base] = suffix
      return name
    }
  }

  /// The name without the parts that stand for functions and files, which are addresses.
  private static func qualified(_ name: String) -> String {
    name.replacing(#/\((unknown context at|in) [^)]*\)\.?/#, with: "")
  }
}
