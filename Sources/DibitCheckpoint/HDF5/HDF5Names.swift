/// Names of tensors in HDF5 files.
package enum HDF5Names {
  /// Paths with dots for slashes, which are the names that Hugging Face gives when groups are the parts of a module:
  /// `model/layers/0/mlp/up_proj/weight` becomes `model.layers.0.mlp.up_proj.weight`. Names without slashes stay what they are.
  ///
  /// - Throws: ``HDF5Fault/duplicate(_:)`` when two paths become one name.
  package static func dotted(_ paths: [String]) throws(HDF5Fault) -> [String] {
    var seen: Set<[UInt8]> = []
    var names: [String] = []
    for path in paths {
      let bytes = path.utf8.map { $0 == UInt8(ascii: "/") ? UInt8(ascii: ".") : $0 }
      let name = String(decoding: bytes, as: UTF8.self)
      guard seen.insert(bytes).inserted else { throw .duplicate(name) }
      names.append(name)
    }
    return names
  }
}
