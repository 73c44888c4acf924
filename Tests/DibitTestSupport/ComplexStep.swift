package import ComplexModule
internal import RealModule

/// `∂f/∂xₖ = Im f(x + i h eₖ) / h` for an analytic `f` (Squire and Trapp, 1998).
///
/// Nothing is subtracted, so `h` can be 2⁻²⁰⁰ and the answer is exact to rounding.
package func complexStepGradient(at x: [Double], of f: ([Complex<Double>]) -> Complex<Double>) -> [Double] {
  let h = 0x1p-200
  var z = x.map { Complex($0) }
  return x.indices.map { k in
    z[k] = Complex(x[k], h)
    defer { z[k] = Complex(x[k]) }
    return f(z).imaginary / h
  }
}

/// What a backward pass must return for `y = f(inputs)`: the gradient of `Σ dy · y` by each input.
package func expectedGradients(
  of inputs: [[Double]], dy: [Double], through f: ([[Complex<Double>]]) -> [Complex<Double>]
) -> [[Double]] {
  let starts = inputs.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.count) }
  let flat = complexStepGradient(at: inputs.flatMap { $0 }) { z in
    let y = f(inputs.indices.map { Array(z[starts[$0]..<starts[$0 + 1]]) })
    precondition(y.count == dy.count, "\(y.count) outputs, \(dy.count) output gradients")
    return zip(y, dy).reduce(Complex(0)) { $0 + $1.0 * Complex($1.1) }
  }
  return inputs.indices.map { Array(flat[starts[$0]..<starts[$0 + 1]]) }
}
