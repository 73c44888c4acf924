internal import Glibc

/// The stream of results.
public enum StandardOutput {
  /// Columns and rows of the terminal that it is; nil where it is none, or does not say.
  public static var size: (columns: Int, rows: Int)? {
    var size = winsize()
    // SAFETY: the kernel writes one `winsize`, which lives until the call returns.
    guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
    return (Int(size.ws_col), Int(size.ws_row))
  }
}
