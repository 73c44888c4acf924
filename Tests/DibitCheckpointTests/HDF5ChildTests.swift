#if HDF5
  @testable import DibitFiles
  import DibitTensor
  import Glibc
  import Synchronization
  import Testing

  @testable import DibitCheckpoint

  /// Names of the open descriptors of this process that are sockets.
  private func sockets() throws -> Set<String> {
    Set(
      try directoryNames("/proc/self/fd").filter { number in
        var target = [CChar](repeating: 0, count: 64)
        // SAFETY: the buffer has room for the count given, and stays terminated.
        let length = unsafe readlink("/proc/self/fd/\(number)", &target, target.count - 1)
        return length > 0 && String(decoding: target.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self).hasPrefix("socket:")
      })
  }

  /// Whether a process of this number exists, also one that has ended and was not waited for.
  private func exists(process: Int32) -> Bool { kill(process, 0) == 0 }

  @Suite(.serialized) struct HDF5ChildTests {
    @Test func everyChildIsWaitedFor() throws {
      let before = try sockets()
      for round in 0..<200 {
        // Good files, files that fail while they are opened, and files whose reading is left in the middle.
        let path = hdf5Fixture(["plain", "virtual", "packed", "cycle"][round % 4])
        if round % 2 == 1 {
          #expect(throws: CheckpointError.self) { try HDF5Container(path: path) }
          continue
        }
        let file = try HDF5Container(path: path)
        let number = file.reader.processNumber
        if round % 4 == 2 { _ = try file.rows("gzip", 0..<1) }
        _ = consume file
        #expect(!exists(process: number))
      }
      // Other suites of this process open files meanwhile, but they do not keep two hundred.
      #expect(try sockets().subtracting(before).count < 50)
    }

    /// A thread that loads a library at the moment of the fork leaves the loader of the child in the middle of its work.
    @Test func otherThreadsLoadLibraries() throws {
      final class Loading: Sendable { let goesOn = Atomic(true) }
      let loading = Loading()
      _ = startThread {
        while loading.goesOn.load(ordering: .relaxed) {
          for name in ["libhdf5_serial.so.103", "libcurl.so.4", "libresolv.so.2", "libthread_db.so.1"] {
            // SAFETY: the name is terminated, and nothing of the library is used.
            if let library = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL) { unsafe _ = dlclose(library) }
          }
        }
      }
      defer { loading.goesOn.store(false, ordering: .relaxed) }
      for _ in 0..<100 { #expect(try HDF5Container(path: hdf5Fixture("plain")).tensors.isEmpty == false) }
    }

    @Test func aKilledChildIsAnError() throws {
      let file = try HDF5Container(path: hdf5Fixture("packed"))
      _ = try file.rows("gzip")
      let number = file.reader.processNumber
      #expect(kill(number, SIGKILL) == 0)
      let fault = HDF5Fault.crashed(signal: SIGKILL, doing: "while reading 'gzip'")
      #expect(throws: CheckpointError.hdf5(file: file.path, fault)) { try file.rows("gzip") }
      // It stays so, for every dataset, and nothing is left of the child.
      #expect(throws: CheckpointError.hdf5(file: file.path, fault)) { try file.rows("all") }
      #expect(!exists(process: number) && file.reader.processNumber == 0)
    }

    @Test func aChildKilledWhileItReadsIsAnError() throws {
      let file = try HDF5Container(path: hdf5Fixture("packed"))
      let number = file.reader.processNumber
      // Stopped, it holds the request; the end comes while this process waits for the answer.
      #expect(kill(number, SIGSTOP) == 0)
      // A thread of its own: a task might wait until other tests leave it a thread, for longer than an answer may take.
      _ = startThread {
        usleep(150_000)
        #expect(kill(number, SIGKILL) == 0)
      }
      let fault = HDF5Fault.crashed(signal: SIGKILL, doing: "while reading 'gzip'")
      #expect(throws: CheckpointError.hdf5(file: file.path, fault)) { try file.rows("gzip") }
      #expect(!exists(process: number))
    }

    @Test func aChildThatHangsIsAnError() throws {
      let file = try HDF5Container(path: hdf5Fixture("packed"), limits: HDF5Limits(requestSeconds: 1))
      let number = file.reader.processNumber
      #expect(kill(number, SIGSTOP) == 0)
      let fault = HDF5Fault.timedOut(seconds: 1, doing: "while reading 'gzip'")
      #expect(throws: CheckpointError.hdf5(file: file.path, fault)) { try file.rows("gzip") }
      #expect(!exists(process: number))
    }

    /// A crash inside libhdf5 looks like this from outside.
    @Test func aCrashIsAnError() throws {
      let file = try HDF5Container(path: hdf5Fixture("packed"))
      #expect(kill(file.reader.processNumber, SIGSEGV) == 0)
      #expect(throws: CheckpointError.hdf5(file: file.path, .crashed(signal: SIGSEGV, doing: "while reading 'gzip'"))) {
        try file.rows("gzip")
      }
    }

    /// Keys like Ctrl-C go to the whole group of processes; what they mean is for the parent to decide.
    @Test func theChildLeavesTheTerminalsSignalsToItsParent() throws {
      let file = try HDF5Container(path: hdf5Fixture("packed"))
      for signal in [SIGINT, SIGQUIT, SIGHUP] { #expect(kill(file.reader.processNumber, signal) == 0) }
      #expect(try file.rows("gzip").count == 37 * 11)
    }

    @Test func theChildIsConfined() throws {
      let file = try HDF5Container(path: hdf5Fixture("packed"))
      let status = String(decoding: try readFile("/proc/\(file.reader.processNumber)/status", limit: 65_536), as: UTF8.self)
      #expect(status.contains("NoNewPrivs:\t1") && status.contains("Seccomp:\t2"))
      #expect(status.contains("Name:\thdf5 reader"))
    }

    /// A chunk of 40 MB, honestly packed into 40 kB, needs as much memory.
    @Test func memoryIsBounded() throws {
      let whole = try HDF5Container(path: hdf5Fixture("zeros"))
      #expect(whole.tensors.first?.byteCount ?? 0 < 50_000)
      #expect(try whole.rows("zeros").allSatisfy { $0 == 0 })
      let poor = try HDF5Container(path: hdf5Fixture("zeros"), limits: HDF5Limits(memory: 8 << 20))
      #expect {
        try poor.rows("zeros")
      } throws: { error in
        guard case CheckpointError.hdf5(_, let fault) = error else { return false }
        switch fault {
        case .unreadable(object: "zeros", _), .crashed: return true
        default: return false
        }
      }
    }
  }
#endif
