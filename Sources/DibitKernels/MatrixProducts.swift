internal import CDibitKernels
internal import DibitTensor

#if OpenBLAS
  internal import COpenBLAS
  internal import Synchronization

  /// Loaded once for the process: the library chooses its kernels when it is loaded.
  private let openBLAS: copenblas = {
    // Debian 12's version does not know newer CPUs and would fall back to kernels of 2004: name what the CPU can run.
    let core: String? =
      switch ISA.process {
      case .avx512, .avx512bf16, .amx: "SKYLAKEX"
      case .avx2, .avxvnni: "HASWELL"
      case .scalar, .neon: nil
      }
    guard let core else { return copenblas_load(nil) }
    return unsafe core.withCString { unsafe copenblas_load($0) }
  }()

  /// Asked once: the library puts its answer together in one static buffer.
  private let openBLASName: String? = {
    guard unsafe openBLAS.sgemm != nil, let configuration = unsafe openBLAS.configuration else { return nil }
    return unsafe String(cString: configuration())
  }()
#endif

extension ISA {
  /// The tier that the process was asked to use: OpenBLAS can follow it only if it is known before the library is loaded.
  fileprivate static let process: ISA = (try? requested()) ?? .detected
}

/// Single-threaded row-major products over pointers, through OpenBLAS where it can be loaded.
@safe
struct MatrixProducts: Sendable {
  let name: String
  /// The reason for which OpenBLAS, though it is installed, multiplies nothing.
  let note: String?
  private let kernels: dibit_kernels
  #if OpenBLAS
    private let sgemm: copenblas_sgemm?
  #endif

  /// - Parameter callers: How many threads may ask for a product at a time.
  init(isa: ISA, kernels: dibit_kernels, usesBLAS: Bool, callers: Int) {
    self.kernels = kernels
    #if OpenBLAS
      // One library serves the process: a tier that is not the process's own, and the scalar one, use Dibit's kernels.
      let isWanted = usesBLAS && isa == .process && isa != .scalar
      let fault = isWanted ? Self.fault(callers: callers) : nil
      note = fault.map { "OpenBLAS cannot be used (\($0)): Dibit's own kernels multiply instead, and round a little differently" }
      unsafe sgemm = isWanted && fault == nil ? openBLAS.sgemm : nil
      name = unsafe sgemm == nil ? "dibit" : openBLASName ?? "OpenBLAS"
    #else
      name = "dibit"
      note = nil
    #endif
  }

  #if OpenBLAS
    private static let isReserving = Mutex<Void>(())

    /// Returns what keeps an installed library from multiplying; nil where nothing does, or there is no library.
    ///
    /// Where the system refuses the library work memory it asks for it without end, so it is made to take all of it beforehand.
    private static func fault(callers: Int) -> String? {
      guard unsafe openBLAS.sgemm != nil else {
        // SAFETY: set once, while the library was loaded, and never freed.
        return unsafe copenblas_fault().map { unsafe String(cString: $0) }
      }
      let isReserved = isReserving.withLock { _ in copenblas_reserve(Int32(callers)) != 0 }
      return isReserved ? nil : "the system refuses its work memory for \(callers) threads"
    }
  #endif

  /// `C = alpha A Bᵀ + beta C` with `A: [m, k]`, `B: [n, k]`, `C: [m, n]`.
  @unsafe func nt(
    _ m: Int, _ n: Int, _ k: Int, _ alpha: Float, _ a: UnsafePointer<Float>, _ lda: Int, _ b: UnsafePointer<Float>, _ ldb: Int,
    _ beta: Float, _ c: UnsafeMutablePointer<Float>, _ ldc: Int
  ) {
    #if OpenBLAS
      if let sgemm = unsafe sgemm {
        unsafe sgemm(
          Int32(COPENBLAS_ROW_MAJOR), Int32(COPENBLAS_NO_TRANSPOSE), Int32(COPENBLAS_TRANSPOSE), Int32(m), Int32(n), Int32(k), alpha, a,
          Int32(lda), b, Int32(ldb), beta, c, Int32(ldc))
        return
      }
    #endif
    unsafe kernels.gemm_nt(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
  }

  /// `C += alpha A B` with `A: [m, k]`, `B: [k, n]`, `C: [m, n]`.
  @unsafe func nn(
    _ m: Int, _ n: Int, _ k: Int, _ alpha: Float, _ a: UnsafePointer<Float>, _ lda: Int, _ b: UnsafePointer<Float>, _ ldb: Int,
    _ c: UnsafeMutablePointer<Float>, _ ldc: Int
  ) {
    #if OpenBLAS
      if let sgemm = unsafe sgemm {
        unsafe sgemm(
          Int32(COPENBLAS_ROW_MAJOR), Int32(COPENBLAS_NO_TRANSPOSE), Int32(COPENBLAS_NO_TRANSPOSE), Int32(m), Int32(n), Int32(k), alpha, a,
          Int32(lda), b, Int32(ldb), 1, c, Int32(ldc))
        return
      }
    #endif
    unsafe kernels.gemm_nn(m, n, k, alpha, a, lda, 1, b, ldb, c, ldc)
  }

  /// `C += alpha Aᵀ B` with `A: [k, m]`, `B: [k, n]`, `C: [m, n]`.
  @unsafe func tn(
    _ m: Int, _ n: Int, _ k: Int, _ alpha: Float, _ a: UnsafePointer<Float>, _ lda: Int, _ b: UnsafePointer<Float>, _ ldb: Int,
    _ c: UnsafeMutablePointer<Float>, _ ldc: Int
  ) {
    #if OpenBLAS
      if let sgemm = unsafe sgemm {
        unsafe sgemm(
          Int32(COPENBLAS_ROW_MAJOR), Int32(COPENBLAS_TRANSPOSE), Int32(COPENBLAS_NO_TRANSPOSE), Int32(m), Int32(n), Int32(k), alpha, a,
          Int32(lda), b, Int32(ldb), 1, c, Int32(ldc))
        return
      }
    #endif
    unsafe kernels.gemm_nn(m, n, k, alpha, a, 1, lda, b, ldb, c, ldc)
  }
}
