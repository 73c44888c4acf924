import DibitKernels
import DibitTensor
import Dispatch
import Foundation
import Glibc
import Testing

@Suite struct ThreadCountTests {
  /// Threads of the process, as the kernel lists them.
  static var threadCount: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0 }

  static func product(of size: Int = 96, on compute: Compute) -> [Float] {
    let values = (0..<size * size).map { Float($0 % 13) - 6 }
    var y = Matrix(rows: size, columns: size)
    Gemm.nt(Matrix(values, columns: size), Matrix(values, columns: size), into: &y, on: compute)
    return y.values
  }

  /// OpenBLAS would start a thread for each CPU, or as many as the user's environment says, and divide each product among them, although
  /// all of our own are busy with products already.
  @Test(arguments: [nil, "8"])
  func openBLASStartsNoThreads(setting: String?) async {
    await #expect(processExitsWith: .success) { [setting = setting as String?] in
      if let setting { unsafe setenv("OPENBLAS_NUM_THREADS", setting, 1) } else { unsafe unsetenv("OPENBLAS_NUM_THREADS") }
      let before = Self.threadCount
      let compute = Compute(threads: 2)
      let sums = Self.product(on: compute)
      #expect(Self.threadCount <= before + 1, "\(compute.productLibrary)")
      // What the user set for other programs is still there.
      #expect(unsafe getenv("OPENBLAS_NUM_THREADS").map { unsafe String(cString: $0) } == setting)
      // Small whole numbers: exact in any order.
      #expect(sums == Self.product(on: Compute(threads: 1, usesBLAS: false)))
      // The handle is null if the library is not there or not used.
      guard let library = unsafe dlopen("libopenblas.so.0", RTLD_NOW | RTLD_NOLOAD),
        let symbol = unsafe dlsym(library, "openblas_get_num_threads")
      else { return }
      typealias Answer = @convention(c) () -> Int32
      #expect(unsafe unsafeBitCast(symbol, to: Answer.self)() == 1)
    }
  }

  /// OpenBLAS takes its work memory back when the process exits: of such exits beside products most ended with a fault.
  @Test func exitsBesideProducts() async {
    for _ in 0..<12 {
      await #expect(processExitsWith: .success) {
        let started = DispatchSemaphore(value: 0)
        for _ in 0..<4 {
          Thread.detachNewThread {
            let compute = Compute(threads: 1)
            _ = Self.product(on: compute)
            started.signal()
            while true { _ = Self.product(of: 512, on: compute) }
          }
        }
        for _ in 0..<4 { started.wait() }
        usleep(20_000)
        exit(EXIT_SUCCESS)
      }
    }
  }

  /// Whatever the number of threads, also when they outnumber the CPUs, the bits are the same.
  @Test func productsDoNotDependOnThreads() {
    var random = SplitMix64(seed: 5)
    let a = (0..<70 * 300).map { _ in Float(random.next() >> 40) / 0x1p23 - 1 }
    let b = (0..<90 * 300).map { _ in Float(random.next() >> 40) / 0x1p23 - 1 }
    let results = [1, 2, 3, 8].map { threads in
      var y = Matrix(rows: 70, columns: 90)
      Gemm.nt(Matrix(a, columns: 300), Matrix(b, columns: 300), into: &y, on: Compute(threads: threads))
      return y.values.map(\.bitPattern)
    }
    #expect(results.allSatisfy { $0 == results[0] })
  }

  @Test func theDefaultIsWhatIsAvailable() { #expect(Compute().threads == Processors.available) }
}
