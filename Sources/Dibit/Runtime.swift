internal import DibitKernels
internal import Synchronization

/// The kernels and threads that a model's jobs run on, made when they are first used.
final class Runtime: Sendable {
  /// The purpose of a computation: it decides which library's products may be used, and in which type they are computed.
  enum Purpose: Hashable {
    /// One text at a time.
    case writing
    /// Many texts in a pass, whose results must not depend on how many they are: a library's products of an adapter's matrices round
    /// differently for another number of rows.
    case scoring
    /// Training, with products of this type.
    case training(ProductPrecision)
  }

  let options: Model.Options
  let constraints = ConstraintCache()
  private let isa: ISA
  private let made = Mutex<[Purpose: Compute]>([:])

  init(_ options: Model.Options) throws {
    if let threads = options.threads, !(1...1024).contains(threads) {
      throw DibitError(.invalidArgument, option: "threads", "expected a number from 1 to 1024, found \(threads)")
    }
    self.options = options
    isa = try ISA.requested()
  }

  func compute(for purpose: Purpose) -> Compute {
    made.withLock { made in
      if let compute = made[purpose] { return compute }
      let compute: Compute
      switch purpose {
      case .writing, .scoring:
        let activations = options.activations.precision
        compute = Compute(
          isa: isa, threads: options.threads, usesBLAS: purpose == .writing, activations: activations,
          keysAndValues: options.cache.precision, floats: purpose == .scoring ? activations.floats : .float)
      case .training(let precision): compute = Compute(isa: isa, threads: options.threads, gradients: precision, floats: precision)
      }
      made[purpose] = compute
      return compute
    }
  }
}

extension Model.Activations {
  var precision: ActivationPrecision {
    switch self {
    case .int8: .int8
    case .int16: .int16
    case .float: .float
    }
  }
}

extension Model.CachePrecision {
  var precision: KeyValuePrecision {
    switch self {
    case .int8: .int8
    case .float16: .float16
    case .float32: .float32
    }
  }
}
