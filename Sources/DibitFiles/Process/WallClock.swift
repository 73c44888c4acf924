internal import Glibc

/// The time of day, for logs; durations are measured with `ContinuousClock`.
package enum WallClock {
  /// Seconds since 1970-01-01 00:00 UTC.
  package static var now: Double {
    var moment = timespec()
    // SAFETY: the structure is ours, and the call keeps no reference to it.
    guard unsafe clock_gettime(CLOCK_REALTIME, &moment) == 0 else { return 0 }
    return Double(moment.tv_sec) + Double(moment.tv_nsec) * 1e-9
  }
}
