internal import Glibc

/// A date and a time of day in the system's time zone.
package struct LocalTime: Equatable, Sendable {
  /// The year, from 1.
  package let year: Int
  /// The month, from 1.
  package let month: Int
  /// The day of the month, from 1.
  package let day: Int
  /// Hours since midnight.
  package let hour: Int
  /// Minutes of the hour.
  package let minute: Int
  /// Seconds of the minute.
  package let second: Int

  /// This moment; nil where the system cannot tell it.
  package static var now: LocalTime? {
    var moment = time(nil)
    var parts = unsafe tm()
    // SAFETY: both structures are ours, and the call keeps no reference to them.
    guard unsafe localtime_r(&moment, &parts) != nil else { return nil }
    return unsafe LocalTime(
      year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday), hour: Int(parts.tm_hour),
      minute: Int(parts.tm_min), second: Int(parts.tm_sec))
  }
}
