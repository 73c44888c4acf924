internal import CDibitOutputs
internal import DibitTensor

/// The outputs of this process that are not whole yet.
enum PartialOutputs {
  static func add(_ path: String) { require(unsafe dibit_outputs_add(path), "PartialOutputs: no memory") }

  static func remove(_ path: String) { unsafe dibit_outputs_remove(path) }

  /// Removes an output, and only then forgets it: memory may end on the way.
  static func discard(_ path: String) { unsafe dibit_outputs_discard(path) }

  static func contains(_ path: String) -> Bool { unsafe dibit_outputs_contains(path) }
}

/// The path with the name that an output will have in place of the hidden one that it is written under: for messages.
package func finalPath(_ path: String) -> String {
  let parts = path.split(separator: "/", omittingEmptySubsequences: false)
  let named = parts.map { part in
    guard part.first == ".", let mark = part.firstRange(of: ".partial-"), part[mark.upperBound...].allSatisfy({ $0.isNumber || $0 == "-" })
    else {
      return part
    }
    return part[..<mark.lowerBound].dropFirst()
  }
  // An output without a directory has its hidden one in this one.
  return (named != parts && named.first == "." ? named.dropFirst() : named[...]).joined(separator: "/")
}

/// Removes what this process has written so far for outputs that are not committed. Jobs that go on writing fail.
///
/// It waits for no lock that other code holds, so it ends wherever the process stands; only a handler of a signal, which may interrupt
/// this very code, must not call it.
package func cleanUpPartialDirectories() { dibit_outputs_clean_up() }
