internal import Glibc

/// The output of a command, and how it ended.
package struct CommandResult: Sendable {
  /// All that it wrote to standard output.
  package let output: [UInt8]
  /// Its exit status; what a shell says of one that a signal ended: 128 and the signal's number.
  package let status: Int32
}

/// A command that is run beside this process, found as a shell finds it, in a process group of its own.
package struct ChildCommand: Sendable {
  /// The command and its arguments.
  package let arguments: [String]

  /// A command of at least one word.
  package init(_ arguments: [String]) { self.arguments = arguments }

  /// The time for which nothing happens before it is asked whether to go on, in milliseconds.
  private static let patience: Int32 = 100

  /// Runs the command with `input` on standard input, and returns what it printed; its error stream is this process's own.
  ///
  /// The signal SIGPIPE must be ignored. A command that is stopped, or prints more than `limit` bytes, is killed with all that it has started.
  ///
  /// - Returns: nil where `isStopped` has ended it.
  /// - Throws: ``FileError`` where there is no such command, or it prints too much.
  package func run(input: [UInt8], limit: Int, isStopped: () -> Bool) throws(FileError) -> CommandResult? {
    let name = arguments[0]
    let toChild = try Pipe(name)
    let fromChild = try Pipe(name)
    var child = Child(process: try spawn(reading: toChild.reading.number, writing: fromChild.writing.number))
    defer { child.end() }
    toChild.reading.take()
    fromChild.writing.take()
    toChild.writing.stopBlocking()
    var (rest, output) = (input[...], [UInt8]())
    if rest.isEmpty { toChild.writing.take() }
    while !isStopped() {
      var requests = [pollfd(fd: fromChild.reading.number, events: Int16(POLLIN), revents: 0)]
      if !rest.isEmpty { requests.append(pollfd(fd: toChild.writing.number, events: Int16(POLLOUT), revents: 0)) }
      // SAFETY: the requests are ours, and the call keeps no reference to them.
      let ready = unsafe poll(&requests, UInt(requests.count), Self.patience)
      // What it has started may hold the stream open for ever.
      if ready == 0, child.hasEnded { return CommandResult(output: output, status: child.status) }
      guard ready > 0 else { continue }
      if requests.count > 1, requests[1].revents != 0 {
        rest = toChild.writing.write(rest)
        if rest.isEmpty { toChild.writing.take() }
      }
      guard requests[0].revents != 0 else { continue }
      let bytes = try fromChild.reading.read(name)
      output += bytes
      guard output.count <= limit else { throw .tooLarge(path: "what \(name) prints", limit: limit, found: output.count) }
      if bytes.isEmpty { return child.wait(isStopped) ? CommandResult(output: output, status: child.status) : nil }
    }
    return nil
  }

  private func spawn(reading: Int32, writing: Int32) throws(FileError) -> pid_t {
    guard !arguments.contains(where: { $0.utf8.contains(0) }) else { throw .notFound(path: arguments[0]) }
    var actions = unsafe posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    var (none, defaults) = (sigset_t(), sigset_t())
    var process: pid_t = 0
    // SAFETY: the structures are ours, are initialized before they are used, and outlive the call; the words are copies that are freed behind it.
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawnattr_init(&attributes)
    unsafe sigemptyset(&none)
    unsafe sigemptyset(&defaults)
    for signal in [SIGPIPE, SIGINT, SIGTERM] { unsafe sigaddset(&defaults, signal) }
    unsafe posix_spawn_file_actions_adddup2(&actions, reading, STDIN_FILENO)
    unsafe posix_spawn_file_actions_adddup2(&actions, writing, STDOUT_FILENO)
    // Ctrl-C at the terminal reaches this process alone, which then ends the group.
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    unsafe posix_spawnattr_setpgroup(&attributes, 0)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
    let words = unsafe arguments.map { unsafe strdup($0) } + [nil]
    let code = unsafe posix_spawnp(&process, arguments[0], &actions, &attributes, words, Self.environment)
    unsafe words.forEach { unsafe free($0) }
    unsafe posix_spawn_file_actions_destroy(&actions)
    unsafe posix_spawnattr_destroy(&attributes)
    switch code {
    case 0: return process
    case ENOENT: throw .notFound(path: arguments[0])
    default: throw .system(operation: "run", path: arguments[0], code: code)
    }
  }

  /// The variables of this process. Swift does not let the variable itself be named, as other threads may change it.
  private static var environment: UnsafePointer<UnsafeMutablePointer<CChar>?>? {
    guard let symbol = unsafe dlsym(nil, "environ") else { return nil }
    // SAFETY: this is the type of environ(7), and nobody here changes the environment.
    return unsafe UnsafePointer(symbol.assumingMemoryBound(to: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?.self).pointee)
  }
}

/// A process that was started, and is reaped.
private struct Child {
  let process: pid_t
  private var ended: Int32?

  init(process: pid_t) { self.process = process }

  /// The status that a shell tells of how it ended.
  var status: Int32 {
    let word = ended ?? 0
    return word & 0x7F == 0 ? word >> 8 & 0xFF : 128 + word & 0x7F
  }

  /// True once it has ended.
  var hasEnded: Bool {
    mutating get {
      var word: Int32 = 0
      // SAFETY: the word is ours.
      if ended == nil, unsafe waitpid(process, &word, WNOHANG) == process { ended = word }
      return ended != nil
    }
  }

  /// Waits for the end; false where `isStopped` comes before.
  mutating func wait(_ isStopped: () -> Bool) -> Bool {
    while !hasEnded {
      if isStopped() { return false }
      usleep(2_000)
    }
    return true
  }

  /// Kills it with all of its group, if it goes on, and reaps it.
  mutating func end() {
    guard !hasEnded else { return }
    kill(-process, SIGKILL)
    while !hasEnded { usleep(1_000) }
  }
}

/// Two ends of a pipe, each closed with its owner or when it is taken.
private struct Pipe {
  let reading: PipeEnd
  let writing: PipeEnd

  init(_ name: String) throws(FileError) {
    var ends: [Int32] = [-1, -1]
    // SAFETY: the array has room for the two numbers.
    guard unsafe pipe(&ends) == 0 else { throw .system(operation: "run", path: name, code: errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    (reading, writing) = (PipeEnd(ends[0]), PipeEnd(ends[1]))
  }
}

private final class PipeEnd {
  private(set) var number: Int32

  init(_ number: Int32) { self.number = number }

  deinit { take() }

  /// Closes it.
  func take() {
    if number >= 0 { _ = close(number) }
    number = -1
  }

  func stopBlocking() { _ = fcntl(number, F_SETFL, O_NONBLOCK) }

  /// Writes what there is room for and returns the rest: nothing where nobody reads.
  func write(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    // SAFETY: the pointer is used within the closure only.
    let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
    if count < 0 { return errno == EAGAIN || errno == EINTR ? bytes : [] }
    return bytes.dropFirst(count)
  }

  /// Reads what is there; nothing at the end.
  func read(_ name: String) throws(FileError) -> [UInt8] {
    var failure: Int32 = 0
    let size = 1 << 16
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
      // SAFETY: the buffer has room for `size` bytes.
      let got = unsafe Glibc.read(number, buffer.baseAddress, size)
      if got < 0 { failure = errno }
      filled = max(got, 0)
    }
    guard failure == 0 else { throw .system(operation: "read", path: "what \(name) prints", code: failure) }
    return bytes
  }
}
