internal import DibitCheckpoint
internal import DibitFiles

/// The lines of standard input, one by one as they come.
struct InputLines {
  /// The next item of the input.
  enum Item {
    case line(String)
    case end
    /// Ctrl-C, or the like.
    case interrupted
    /// A line that is not UTF-8, and where.
    case invalid([UInt8], offset: Int)
  }

  /// Lines so far, blank ones included.
  private(set) var count = 0
  /// True where an interruption has been told of since the last line.
  var toldOfInterrupt = false
  private var pending: [UInt8] = []
  private var searched = 0  // bytes of `pending` without a line end
  private var hasEnded = false

  /// The most bytes of a line; no model reads as much.
  private static let limit = 64 << 20

  /// Waits for the next line, without its line end.
  mutating func next() throws -> Item {
    while true {
      if let end = pending[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = Array(pending[..<end])
        pending.removeFirst(end + 1)
        return item(line)
      }
      searched = pending.count
      guard pending.count <= Self.limit else {
        throw FileError.tooLarge(path: "standard input", limit: Self.limit, found: pending.count)
      }
      if hasEnded {
        guard !pending.isEmpty else { return .end }
        defer { pending = [] }
        return item(pending)
      }
      let told = toldOfInterrupt
      let bytes = try StandardInput.read(upTo: 1 << 16) { Interrupt.isRequested && !told }
      if bytes.isEmpty {
        if Interrupt.isRequested, !told { return .interrupted }
        hasEnded = true
      }
      pending += bytes
    }
  }

  private mutating func item(_ line: [UInt8]) -> Item {
    (searched, toldOfInterrupt) = (0, false)
    count += 1
    let line = line.last == UInt8(ascii: "\r") ? Array(line.dropLast()) : line
    if let offset = UTF8Text.fault(in: line) { return .invalid(line, offset: offset) }
    return .line(String(decoding: line, as: UTF8.self))
  }
}
