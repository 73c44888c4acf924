import Glibc
import Testing

/// A terminal of some width without anybody before it: what a command shows to a person.
final class PseudoTerminal {
  private let master: Int32
  /// The device to write to.
  let path: String

  init(columns: Int, rows: Int = 60) throws {
    let device = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY)
    // TIOCSPTLCK and TIOCGPTN, which Swift does not import: unlock the other end, and ask for its number.
    var (locked, number): (Int32, Int32) = (0, -1)
    let isOpen = unsafe ioctl(device, 0x4004_5431, &locked) == 0 && ioctl(device, 0x8004_5430, &number) == 0
    // The size stays with the terminal, also before its first user.
    var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    let isSized = unsafe ioctl(device, UInt(TIOCSWINSZ), &size) == 0
    (master, path) = (device, "/dev/pts/\(number)")
    try #require(isOpen && isSized, "no terminal can be made")
  }

  deinit { close(master) }

  /// What was written, line by line; call it when the writer is gone. A terminal holds some kilobytes that nobody has read.
  func lines() -> [String] {
    _ = fcntl(master, F_SETFL, O_NONBLOCK)
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    var text: [UInt8] = []
    while case let count = unsafe read(master, &bytes, bytes.count), count > 0 { text += bytes[..<count] }
    return String(decoding: text, as: UTF8.self).replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init)
  }
}
