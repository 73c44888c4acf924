internal import DibitFailure
internal import DibitJSON

/// The events of sessions, as a trace tells them.
struct TraceTimeline {
  /// Something that took time.
  struct Event: Equatable {
    let session: String
    let name: String
    /// Seconds since 1970.
    let time: Double
    let seconds: Double
    let members: JSONValue
  }

  /// The events of each session, in the order of time; sessions in the order in which they began.
  let sessions: [[Event]]

  /// Reads the lines of a trace.
  ///
  /// - Throws: ``Failure`` for a line that is no event, with its number.
  init(_ text: String, file: String) throws(Failure) {
    var events: [Event] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() where !line.isEmpty {
      guard let value = try? JSONValue(parsing: String(line)), let session = value["session"]?.string, let name = value["event"]?.string,
        let time = value["time"]?.double, let seconds = value["seconds"]?.double
      else {
        throw Failure(
          .badData, "'\(file)', line \(index + 1): an object with session, event, time and seconds expected, found something else")
      }
      events.append(Event(session: session, name: name, time: time, seconds: seconds, members: value))
    }
    // A turn is written behind what happened in it, and begins before.
    events.sort { ($0.time, -$0.seconds) < ($1.time, -$1.seconds) }
    var order: [String] = []
    for event in events where !order.contains(event.session) { order.append(event.session) }
    let grouped = Dictionary(grouping: events, by: \.session)
    sessions = order.compactMap { grouped[$0] }
  }

  /// The timeline, a line for each event: of one session, or of all.
  func lines(ofSession session: String? = nil) -> [String] {
    sessions.flatMap { events -> [String] in
      guard let first = events.first, session == nil || session == first.session else { return [] }
      return ["session \(first.session)"] + events.map { Self.line($0, from: first.time) }
    }
  }

  private static func line(_ event: Event, from start: Double) -> String {
    let isInside = ["step", "tool"].contains(event.name)
    let name = (isInside ? "  " : "") + event.name
    let padding = String(repeating: " ", count: max(1, 10 - name.count))
    return "  \(shown(event.time - start)) s  \(name)\(padding)\(shown(event.seconds)) s  \(details(event))"
  }

  /// Seconds in eight characters, milliseconds at the end.
  private static func shown(_ seconds: Double) -> String {
    let thousandths = Int((max(0, min(seconds, 9_999)) * 1000).rounded())
    let fraction = String(thousandths % 1000)
    let text = "\(thousandths / 1000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
    return String(repeating: " ", count: max(0, 8 - text.count)) + text
  }

  private static func details(_ event: Event) -> String {
    let members = event.members
    if let error = members["error"]?.string { return "failed: \(error)" }
    func count(_ key: String) -> Int { members[key]?.int ?? 0 }
    switch event.name {
    case "load": return members["model"]?.string ?? ""
    case "prewarm": return counted(count("read_tokens"), "token") + " read"
    case "tool": return members["tool"]?.string ?? ""
    case "turn": return "\(members["form"]?.string ?? "text"), \(counted(count("response_tokens"), "token"))"
    case "step":
      let first = members["first_seconds"]?.double ?? 0
      var text = "\(count("read_tokens")) of \(counted(count("prompt_tokens"), "token")) read, \(count("made_tokens")) made"
      let rest = event.seconds - first
      if first > 0 { text += ", the first after \(shown(first).drop { $0 == " " }) s" }
      if rest > 0, count("made_tokens") > 1 { text += ", then \(Int((Double(count("made_tokens") - 1) / rest).rounded())) a second" }
      if count("calls") > 0 { text += "; " + counted(count("calls"), "call") }
      return text
    default: return ""
    }
  }
}
