/// Names and texts are compared byte by byte here.
///
/// Swift's own `==` and `<` treat canonically equivalent strings as equal (an "é" of one scalar and one of two). Two folders of a
/// Linux file system may differ in just that, so neither is good enough for paths and labels.
extension String {
  /// Checks that the UTF-8 bytes are the same.
  func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// Checks that the UTF-8 bytes come first in lexicographic order.
  func precedesInBytes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}

extension [String] {
  /// The strings in the order of their UTF-8 bytes.
  func sortedByBytes() -> [String] { sorted { $0.precedesInBytes($1) } }

  /// The distinct strings (by bytes) in the order of their UTF-8 bytes.
  func distinctByBytes() -> [String] {
    var distinct: [String] = []
    for element in sortedByBytes() {
      if let last = distinct.last, last.hasSameBytes(as: element) { continue }
      distinct.append(element)
    }
    return distinct
  }

  /// Checks that both hold the same bytes in the same order.
  func hasSameBytes(as other: [String]) -> Bool { count == other.count && zip(self, other).allSatisfy { $0.hasSameBytes(as: $1) } }
}
