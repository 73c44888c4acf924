internal import CDibitThreads
internal import Glibc

/// The number of threads that help, on this machine and in this container.
package enum Processors {
  /// The threads that a computation should use: one for each physical core that the process may run on, but no more than the CPU time
  /// that its control groups grant. At least 1.
  ///
  /// A core's second hardware thread shares the vector units, the caches and the way to memory that kernels keep busy already.
  package static let available = min(max(physicalCores(affinity(), read: contents), 1), quota ?? .max)

  /// The hardware threads that the process may use at a time; more threads than these keep each other from running.
  package static let schedulable = min(max(affinity().count, 1), quota ?? .max)

  private static let quota = CPUQuota.threads(read: contents)

  /// The cores behind `cpus`; a CPU about which the kernel says nothing counts as a core.
  package static func physicalCores(_ cpus: [Int], read: (_ path: String) -> String?) -> Int {
    // Without simultaneous multithreading, hundreds of files need not be read.
    if read("/sys/devices/system/cpu/smt/active")?.first == "0" { return cpus.count }
    var cores = Set<String>()
    for cpu in cpus {
      // Siblings have the same text here, such as "3,67" or "6-7".
      cores.insert(read("/sys/devices/system/cpu/cpu\(cpu)/topology/thread_siblings_list") ?? "\(cpu)")
    }
    return cores.count
  }

  /// The hardware threads that the scheduler may give to this process: taskset and cpusets narrow them.
  package static func affinity() -> [Int] {
    var mask = [UInt64](repeating: 0, count: 1024)  // 65 536 CPUs; the C library's own type ends at 1024
    // SAFETY: it writes no more than the words it is told.
    if unsafe dibit_affinity(&mask, mask.count) != 0 { return Array(0..<max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)) }
    return mask.indices.flatMap { word in (0..<64).filter { mask[word] >> $0 & 1 == 1 }.map { word * 64 + $0 } }
  }

  /// The text of a file of the kernel's, up to 1 MiB; nil when it cannot be read or is no text.
  static func contents(_ path: String) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 4096)
    while bytes.count < 1 << 20 {
      // SAFETY: `read` writes no more than the size it is told.
      let count = unsafe block.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
      if count < 0 { return nil }
      if count == 0 { break }
      bytes += block[..<count]
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
