import DibitKernels
import DibitTensor
import DibitTestSupport
import Testing

/// The lengths at which vector loops change their path.
let awkward = [1, 2, 3, 5, 7, 15, 16, 17, 31, 33, 63, 64, 67, 129]

/// Every way to run an op on this machine.
enum Machine {
  /// Dibit's own kernels on each tier and one, two and three threads; the first is the simplest.
  static let own: [Compute] = ISA.available.flatMap { isa in (1...3).map { Compute(isa: isa, threads: $0, usesBLAS: false) } }
  /// The best tier with OpenBLAS, if it is there, on one, two and three threads.
  static let products: [Compute] = (1...3).map { Compute(threads: $0) }
  /// For tests of what an op means, where tiers do not matter.
  static let usual = products[1]
}

extension Compute {
  var label: Comment { "\(isa), \(threads) threads, products by \(productLibrary)" }
}

/// Runs `op` everywhere. Own kernels must return the same bits on every tier and every number of threads; OpenBLAS the same bits on
/// every number of threads; both must agree with `expected`.
func agree(
  _ expected: [Double], columns: Int = 1, tolerance: (_ index: Int) -> Double, sourceLocation: SourceLocation = #_sourceLocation,
  _ op: (Compute) -> [Float]
) {
  for machines in [Machine.own, Machine.products] {
    let first = op(machines[0])
    #expect(
      mismatch(first, expected, columns: columns, tolerance: tolerance) == nil, machines[0].label, sourceLocation: sourceLocation)
    for machine in machines.dropFirst() {
      #expect(bitMismatch(op(machine), first, columns: columns) == nil, machine.label, sourceLocation: sourceLocation)
    }
  }
}

func agree(
  _ expected: [Double], columns: Int = 1, within tolerance: Double, sourceLocation: SourceLocation = #_sourceLocation,
  _ op: (Compute) -> [Float]
) {
  agree(expected, columns: columns, tolerance: { _ in tolerance }, sourceLocation: sourceLocation, op)
}

/// As ``agree(_:columns:tolerance:sourceLocation:_:)`` for an op that tiers may round differently: the same bits on every number of threads.
func agreeOnEachTier(
  _ expected: [Double], columns: Int = 1, tolerance: (_ index: Int) -> Double, sourceLocation: SourceLocation = #_sourceLocation,
  _ op: (Compute) -> [Float]
) {
  for isa in ISA.available {
    let machines = Machine.own.filter { $0.isa == isa }
    let first = op(machines[0])
    #expect(
      mismatch(first, expected, columns: columns, tolerance: tolerance) == nil, machines[0].label, sourceLocation: sourceLocation)
    for machine in machines.dropFirst() {
      #expect(bitMismatch(op(machine), first, columns: columns) == nil, machine.label, sourceLocation: sourceLocation)
    }
  }
}

extension Matrix {
  /// A matrix of these elements whose width is known.
  init(_ values: [Float], columns: Int) { self.init(rows: values.count / columns, columns: columns, values: values) }
}

/// What a gradient holds before a backward pass that must add to it.
func earlier(_ count: Int) -> [Float] { uniforms(count, seed: 99) }

/// `expected` on top of what was there earlier.
func onTop(_ expected: [Double]) -> [Double] { zip(expected, earlier(expected.count)).map { $0 + Double($1) } }

extension [Int32] {
  var ints: [Int] { map(Int.init) }
}
