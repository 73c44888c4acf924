internal import Glibc

/// The most memory that this process has held at once: what the system counts as resident, mapped files included.
package enum ProcessMemory {
  /// The most since the process began or since ``resetPeak()``, in bytes; nil where the system does not say.
  package static var peak: Int? {
    guard let bytes = try? readFile("/proc/self/status", limit: 1 << 16) else { return nil }
    // "VmHWM:     12345 kB"
    for line in bytes.split(separator: UInt8(ascii: "\n")) where line.starts(with: Array("VmHWM:".utf8)) {
      return Int(String(decoding: line.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }, as: UTF8.self)).map { $0 << 10 }
    }
    return nil
  }

  /// Counts from now on; false where the system does not allow it.
  @discardableResult
  package static func resetPeak() -> Bool {
    guard let file = FileDescriptor.open("/proc/self/clear_refs", flags: O_WRONLY) else { return false }
    let five: [UInt8] = [UInt8(ascii: "5")]
    return (try? file.write(five.span)) != nil
  }
}
