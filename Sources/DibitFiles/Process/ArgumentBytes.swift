internal import Glibc

/// The arguments of this process as the system gave them; `CommandLine.arguments` has U+FFFD for what is not UTF-8 in them.
package enum ArgumentBytes {
  /// The bytes of each, the name of the program first.
  package static var all: [[UInt8]] {
    (0..<Int(CommandLine.argc)).map { index in
      // SAFETY: the system hands over `argc` terminated texts that live as long as the process, and nothing here changes them.
      guard let argument = unsafe CommandLine.unsafeArgv[index] else { return [] }
      return unsafe UnsafeRawBufferPointer(start: argument, count: strlen(argument)).map { $0 }
    }
  }
}
