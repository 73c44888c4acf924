internal import DibitFailure
internal import DibitFiles

#if HDF5
  internal import CHDF5
  internal import DibitTensor
  internal import Glibc
  internal import Synchronization

  /// The limits of the child that reads a file.
  struct HDF5Limits: Equatable, Sendable {
    /// Bytes of the memory that both processes see; one request reads at most so much, and the list of datasets fits in.
    var window = 16 << 20
    /// Bytes that libhdf5 may allocate.
    var memory = 1 << 30
    /// Bytes of one chunk.
    var chunk = 128 << 20
    /// Links that are looked at.
    var links = 1 << 18
    /// Seconds for opening the file and listing its datasets.
    var openSeconds = 30
    /// Seconds for one request, besides one for each of its megabytes.
    var requestSeconds = 30
  }

  /// A child process that reads one file through libhdf5, and this process's side of the talk with it.
  ///
  /// Requests from several threads wait for each other. After the first failure of the child every request fails in the same way.
  final class HDF5Reader: Sendable {
    // Safe: the pointer in `child` is used only by the functions of CHDF5, and under the lock.
    @safe private struct State {
      var child: chdf5_reader
      var failure: HDF5Fault?
    }

    let limits: HDF5Limits
    private let state: Mutex<State>

    /// Starts a child for an opened file and returns it with the file's datasets.
    static func start(_ file: borrowing FileDescriptor, limits: HDF5Limits) throws(CheckpointError) -> (HDF5Reader, [HDF5Dataset]) {
      let size = try rethrow(as: CheckpointError.file, file.status()).size
      let path = file.path
      do throws(HDF5Fault) {
        let reader = try HDF5Reader(file: file.number, fileBytes: size, limits: limits)
        return (reader, try reader.listing(fileBytes: size))
      } catch { throw .hdf5(file: path, error) }
    }

    private init(file: Int32, fileBytes: Int, limits: HDF5Limits) throws(HDF5Fault) {
      self.limits = limits
      var native = chdf5_limits(
        memory: UInt64(limits.memory), processor_seconds: UInt64(300 + fileBytes >> 20), open_seconds: UInt64(limits.openSeconds),
        chunk: UInt64(limits.chunk), links: UInt64(limits.links))
      var child = unsafe chdf5_reader()
      // SAFETY: both structures are ours and outlive the call; the child gets copies.
      let code = unsafe chdf5_start(file, UInt64(fileBytes), limits.window, &native, &child)
      guard code == 0 else { throw .childNotStarted(code: code) }
      unsafe state = Mutex(State(child: child, failure: nil))
    }

    deinit {
      state.withLock { state in unsafe _ = chdf5_stop(&state.child, false) }
    }

    /// The child's process number, or 0 when it has ended; for tests.
    var processNumber: Int32 { state.withLock { unsafe $0.child.process } }

    private func listing(fileBytes: Int) throws(HDF5Fault) -> [HDF5Dataset] {
      let (bytes, count) = try state.withLock { state throws(HDF5Fault) -> ([UInt8], Int) in
        let reply = try Self.receive(&state, seconds: limits.openSeconds, doing: "while opening it")
        let length = Int(clamping: reply.bytes)
        guard let window = unsafe state.child.window, length <= limits.window else {
          throw .garbled(reason: "a list of \(length) bytes")
        }
        // A copy, because the child could change its mind while the list is checked.
        // SAFETY: the window has `limits.window` bytes, which `length` does not exceed.
        return unsafe ([UInt8](UnsafeRawBufferPointer(start: window, count: length)), Int(clamping: reply.first))
      }
      return try HDF5Listing.parse(bytes, count: count, fileBytes: fileBytes)
    }

    /// Reads a block and gives its bytes, row-major and little-endian, to `body`; they are valid until it returns.
    func read(_ dataset: HDF5Dataset, start: [Int], count: [Int], _ body: (Bytes) -> Void) throws(HDF5Fault) {
      let bytes = count.reduce(dataset.dtype.byteCount, *)
      require(bytes <= limits.window && start.count == dataset.shape.count && start.count == count.count, "HDF5Reader: a block too large")
      var request = chdf5_request()
      request.dataset = UInt64(dataset.number)
      let seconds = limits.requestSeconds + bytes >> 20
      request.seconds = UInt64(seconds)
      for axis in start.indices {
        // SAFETY: a dataset has at most CHDF5_RANK dimensions, and the tuples have so many elements.
        unsafe withUnsafeMutableBytes(of: &request.start) {
          unsafe $0.storeBytes(of: UInt64(start[axis]), toByteOffset: axis * 8, as: UInt64.self)
        }
        unsafe withUnsafeMutableBytes(of: &request.count) {
          unsafe $0.storeBytes(of: UInt64(count[axis]), toByteOffset: axis * 8, as: UInt64.self)
        }
      }
      let doing = "while reading \(quoted(dataset.path))"
      try state.withLock { state throws(HDF5Fault) in
        if let failure = state.failure { throw failure }
        guard unsafe chdf5_send(&state.child, &request) else {
          throw Self.ended(&state, Int32(CHDF5_ENDED), seconds: seconds, doing: doing)
        }
        let reply = try Self.receive(&state, seconds: seconds, doing: doing)
        guard let window = unsafe state.child.window, reply.bytes == UInt64(bytes) else {
          throw .garbled(reason: "\(bytes) bytes asked for, \(reply.bytes) given")
        }
        // SAFETY: the window has at least `bytes` bytes and stays mapped while the lock is held. Whatever the child writes there
        // meanwhile are numbers too.
        body(Bytes(unsafe SharedBytes(adopting: window, count: bytes) { _, _ in }))
      }
    }

    private static func receive(_ state: inout State, seconds: Int, doing: String) throws(HDF5Fault) -> chdf5_reply {
      if let failure = state.failure { throw failure }
      var reply = chdf5_reply()
      // SAFETY: both structures are ours and outlive the call.
      let outcome = unsafe chdf5_receive(&state.child, UInt64(seconds), &reply)
      guard outcome == Int32(CHDF5_ANSWERED) else { throw ended(&state, outcome, seconds: seconds, doing: doing) }
      if let fault = HDF5Fault(reply, openSeconds: seconds) { throw fault }
      return reply
    }

    /// Ends a child that does not answer as it should, and says why; the reason stays.
    private static func ended(_ state: inout State, _ outcome: Int32, seconds: Int, doing: String) -> HDF5Fault {
      // SAFETY: the structure is ours; a child that was stopped before is not stopped again.
      let status = unsafe chdf5_stop(&state.child, outcome == Int32(CHDF5_ENDED))
      let fault: HDF5Fault =
        switch outcome {
        case Int32(CHDF5_TIMED_OUT): .timedOut(seconds: seconds, doing: doing)
        case Int32(CHDF5_GARBLED): .garbled(reason: "an answer of the wrong size or kind")
        default:
          switch status & 127 {
          case 0: .exited(code: status >> 8 & 255, doing: doing)
          // The system's way to say that the time of the processor, or our own clock in the child, ran out.
          case Int32(SIGXCPU), Int32(SIGALRM): .timedOut(seconds: seconds, doing: doing)
          case let signal: .crashed(signal: signal, doing: doing)
          }
        }
      state.failure = fault
      return fault
    }
  }
#endif
