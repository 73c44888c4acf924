import DibitJSON
import DibitTestSupport

/// The files of what `dibit train` or `dibit pretrain` wrote, without what the clock and the system say of each event.
func results(below folder: String) throws -> [String: [UInt8]] {
  var found = try files(below: folder)
  found["events.jsonl"] = try found["events.jsonl"].map { Array(try unmeasured($0).joined(separator: "\n").utf8) }
  return found
}

/// The lines of an event log without their `measured`.
func unmeasured(_ log: [UInt8]) throws -> [String] {
  try log.split(separator: UInt8(ascii: "\n")).map { line in
    var event = try JSONValue(parsing: Array(line)).object ?? JSONObject()
    event["measured"] = nil
    return JSONValue.object(event).serialized()
  }
}
