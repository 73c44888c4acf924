package import DibitFailure
internal import CDibitKernels
internal import Glibc

/// An instruction-set tier that kernels are compiled for.
package enum ISA: Int, CaseIterable, Comparable, Sendable {
  /// Any CPU.
  case scalar
  /// AVX2 and F16C.
  case avx2
  /// AVX2 with AVX-VNNI.
  case avxvnni
  /// AVX-512 with VNNI.
  case avx512
  /// AVX-512 with VNNI, and with products of BF16, for the backward pass.
  case avx512bf16
  /// That, and tiles of bytes (AMX) for products of packed weights and many rows. Listed only where such a product agrees
  /// with the one of ``avx512``, bit for bit, when the program asks for the tiers.
  case amx
  /// 64-bit ARM with dot products of bytes.
  case neon

  /// The tiers this CPU can run, worst first.
  package static let available: [ISA] = allCases.filter { dibit_has_isa(dibit_isa(UInt32($0.rawValue))) != 0 }

  /// The best tier of this CPU.
  package static var detected: ISA { available.last ?? .scalar }

  /// The tier that `DIBIT_ISA` names, or the best one when it is not set.
  package static func requested() throws(KernelError) -> ISA {
    guard let name = unsafe getenv("DIBIT_ISA") else { return .detected }
    return try ISA(named: unsafe String(cString: name))
  }

  /// True when the tier multiplies numbers of BF16 faster than floats.
  var hasBFloatProducts: Bool { self == .avx512bf16 || self == .amx }

  /// Returns whether `left` is the lesser tier.
  package static func < (left: ISA, right: ISA) -> Bool { left.rawValue < right.rawValue }

  /// The tier called `name`.
  ///
  /// - Throws: ``KernelError/unknownISA(_:)`` or, when the CPU lacks it, ``KernelError/unavailableISA(_:available:)``.
  package init(named name: String) throws(KernelError) {
    guard let isa = Self.allCases.first(where: { "\($0)" == name }) else { throw .unknownISA(name) }
    guard Self.available.contains(isa) else { throw .unavailableISA(isa, available: Self.available) }
    self = isa
  }
}

/// The reasons for which kernels cannot run as asked.
package enum KernelError: EngineError, Equatable {
  case unknownISA(String)
  case unavailableISA(ISA, available: [ISA])

  /// The kind of failure.
  package var kind: FailureKind { .invalidRequest }

  /// One sentence: what was expected and found.
  package var description: String {
    switch self {
    case .unknownISA(let name): "DIBIT_ISA: expected one of \(Self.list(ISA.allCases)), found '\(name)'"
    case .unavailableISA(let isa, let available): "DIBIT_ISA: this CPU has no \(isa); it offers \(Self.list(available))"
    }
  }

  private static func list(_ tiers: [ISA]) -> String { tiers.map { "\($0)" }.joined(separator: ", ") }
}
