/// The members of a JSON object in the order of the file. Keys are compared by their UTF-8 bytes.
package struct JSONObject: Sendable {
  /// Key and value of each member, in order.
  package private(set) var members: [(key: String, value: JSONValue)]

  /// An object with these members; keys must differ.
  package init(_ members: [(key: String, value: JSONValue)] = []) { self.members = members }

  /// The number of members.
  package var count: Int { members.count }

  /// The keys, in order.
  package var keys: [String] { members.map(\.key) }

  /// The value of `key`; setting replaces it in place, appends it, or removes it when nil.
  ///
  /// - Complexity: O(members): walk ``members`` once to index a large object.
  package subscript(key: String) -> JSONValue? {
    get { index(of: key).map { members[$0].value } }
    set {
      switch (index(of: key), newValue) {
      case (let found?, let value?): members[found].value = value
      case (let found?, nil): members.remove(at: found)
      case (nil, let value?): members.append((key: key, value: value))
      case (nil, nil): break
      }
    }
  }

  private func index(of key: String) -> Int? {
    members.firstIndex { $0.key.utf8.elementsEqual(key.utf8) }
  }
}

extension JSONObject: Equatable {
  /// Same members in the same order.
  package static func == (left: JSONObject, right: JSONObject) -> Bool {
    left.members.elementsEqual(right.members) { $0.key.utf8.elementsEqual($1.key.utf8) && $0.value == $1.value }
  }
}
