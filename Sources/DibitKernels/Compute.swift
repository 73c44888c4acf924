internal import CDibitKernels
internal import DibitTensor

#if OpenBLAS
  internal import COpenBLAS
#endif

/// The execution context of ops: an instruction-set tier, a thread pool and scratch memory for each of its threads.
///
/// Make one for a process and hand it to everything. Results do not depend on the number of threads.
package final class Compute: Sendable {
  /// The tier of the kernels.
  package let isa: ISA
  /// The precision of the activations that packed weights are multiplied with.
  package let activations: ActivationPrecision
  /// The precision of the keys and values that are kept by what uses a model and is told nothing else.
  package let keysAndValues: KeyValuePrecision
  /// The precision of the gradients that the backward pass multiplies with packed weights.
  package let gradients: ProductPrecision
  /// The precision in which float weights are multiplied, forward and backward.
  package let floats: ProductPrecision
  let pool: ThreadPool
  let kernels: dibit_kernels
  let products: MatrixProducts
  /// The profiler that is told how long each op takes; nil for none.
  package let profiler: Profiler?
  private let scratch: [Scratch]

  /// Kernels of `isa` on `threads` threads; by default the best tier and ``Processors/available`` threads.
  ///
  /// BF16 is used where the tier has instructions for it: `gradients` beside packed weights, `floats` for weights that are not packed, which
  /// is meant for passes of many rows; with `emulatesBFloat` on every tier, for tests. `usesBLAS` set to false keeps products of float matrices on Dibit's own kernels. A `profiler` is told how long each op takes.
  package init(
    isa: ISA = .detected, threads: Int? = nil, usesBLAS: Bool = true, activations: ActivationPrecision = .int8,
    keysAndValues: KeyValuePrecision = .int8, gradients: ProductPrecision = .bfloat16, floats: ProductPrecision = .float,
    emulatesBFloat: Bool = false, profiler: Profiler? = nil
  ) {
    require(ISA.available.contains(isa), "Compute: this CPU has no \(isa)")
    self.isa = isa
    self.activations = activations
    self.keysAndValues = keysAndValues
    let hasBFloat = isa.hasBFloatProducts || emulatesBFloat
    self.gradients = hasBFloat ? gradients : .float
    self.floats = hasBFloat ? floats : .float
    self.profiler = profiler
    pool = ThreadPool(threads: threads ?? Processors.available)
    kernels = unsafe dibit_kernels_for(dibit_isa(UInt32(isa.rawValue))).pointee
    products = MatrixProducts(isa: isa, kernels: kernels, usesBLAS: usesBLAS, callers: pool.threads)
    scratch = (0..<pool.threads).map { _ in Scratch() }
  }

  /// The context `other`, its threads and memory included, with these products.
  private init(sharing other: Compute, products: MatrixProducts, floats: ProductPrecision) {
    (isa, activations, keysAndValues, gradients) = (other.isa, other.activations, other.keysAndValues, other.gradients)
    (profiler, pool, scratch, kernels) = (other.profiler, other.pool, other.scratch, other.kernels)
    (self.products, self.floats) = (products, floats)
  }

  /// The same context, its threads and memory included, without a library: what an op makes of a row does not depend on the other rows.
  package var withoutBLAS: Compute {
    Compute(sharing: self, products: MatrixProducts(isa: isa, kernels: kernels, usesBLAS: false, callers: pool.threads), floats: floats)
  }

  /// The same context for passes of many rows that are measured, not written: float weights are multiplied as fast as the activations allow.
  package var measuring: Compute {
    Compute(sharing: self, products: products, floats: isa.hasBFloatProducts ? activations.floats : .float)
  }

  /// The number of threads that share an op.
  package var threads: Int { pool.threads }

  /// The library that runs matrix products, for reports: OpenBLAS's own description, or "dibit".
  package var productLibrary: String { products.name }

  /// The reason for which OpenBLAS, though it is installed and was asked for, runs no products; nil where it does, or was not asked for.
  package var productLibraryNote: String? { products.note }

  /// At least `count` floats that belong to `worker` until its task ends; outside of a task they belong to whoever runs one at that time.
  func scratch(_ worker: Int, count: Int) -> UnsafeMutablePointer<Float> { unsafe scratch[worker].reserve(count) }

  /// Calls `body` with ranges that cover `0..<count`, each of `step` elements but the last.
  func forEachRange(_ count: Int, step: Int, _ body: (_ range: Range<Int>, _ worker: Int) -> Void) {
    pool.forEach((count + step - 1) / step) { task, worker in body(task * step..<min((task + 1) * step, count), worker) }
  }
}

/// One worker's memory; it grows until the largest op has run once.
private final class Scratch: @unchecked Sendable {
  private var buffer = Buffer<Float>(count: 0)

  func reserve(_ count: Int) -> UnsafeMutablePointer<Float> {
    if buffer.count < count { buffer = Buffer(count: count) }
    return unsafe buffer.mutablePointer
  }
}
