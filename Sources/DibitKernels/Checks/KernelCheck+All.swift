internal import CDibitKernels

extension KernelCheck {
  /// Every kernel.
  package static let all: [KernelCheck] = linear + elementwise + norms + activations + attention + losses

  /// The entries of the kernel table, so that a test can see that each has a check.
  static var tableEntries: [String] {
    let table = unsafe dibit_kernels_for(DIBIT_SCALAR).pointee
    return Mirror(reflecting: table).children.compactMap(\.label)
  }
}
