internal import DibitTensor
internal import Glibc

/// From now on `handler` is called for every signal of these that arrives, on a thread of its own, so that it may allocate and take locks.
///
/// Call it before other threads are started: they must not take the signals. Where the system refuses the thread, signals do what they do
/// by default.
package func watchSignals(_ signals: [Int32], handler: @escaping @Sendable (_ signal: Int32) -> Void) {
  var set = sigset_t()
  // SAFETY: the set is ours, and the calls fill and read it only.
  unsafe sigemptyset(&set)
  for signal in signals { unsafe sigaddset(&set, signal) }
  unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
  let waited = set
  let isWatched = startThread {
    var (set, number) = (waited, Int32(0))
    while true {
      // SAFETY: as above.
      if unsafe sigwait(&set, &number) == 0 { handler(number) }
    }
  }
  if !isWatched { unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil) }
}
