/// The formats of strings that a schema may name, as patterns.
enum StringFormat {
  private static let day =
    "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))"
    + "|(?:(?:[02468][048]|[13579][26])00|\\d\\d(?:0[48]|[2468][048]|[13579][26]))-02-29)"
  private static let clock = "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)"
  private static let label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
  private static let byte = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"

  /// RFC 3339 without leap seconds; RFC 4122; addresses of RFC 5321 without quotes and comments; dotted IPv4.
  static let patterns: [String: String] = [
    "date": "^\(day)$",
    "time": "^\(clock)$",
    "date-time": "^\(day)T\(clock)$",
    "uuid": "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
    "email": "^[A-Za-z0-9_%+-]+(?:\\.[A-Za-z0-9_%+-]+)*@\(label)(?:\\.\(label))+$",
    "ipv4": "^\(byte)(?:\\.\(byte)){3}$",
  ]
}
