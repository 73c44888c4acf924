import ComplexModule
import DibitKernels
import DibitModel
import DibitTensor
import DibitTestSupport
import RealModule

/// The loss of an afm7 decoder, written once more from the formulas of docs/gradients, for any number type: with `Complex`, an imaginary step
/// in the parameters gives the derivative along it.
///
/// It shares configuration and parameters with the decoder, and none of its code.
struct AFM7Oracle {
  let configuration: ModelConfiguration
  let weights: DecoderWeights
  /// `s` of the adapter's term `s B A`.
  let scale: Double
  /// The entry of a layer's linear in the adapter.
  let entry: (_ layer: Int, _ kind: LinearKind) -> Int?
  /// Token ids, and targets with -1 where there is none, of each sequence.
  let sequences: [(tokens: [Int], targets: [Int])]

  /// All numbers that have a gradient: weights by ``Parameter/index``, `A` and `B` by entry.
  struct Numbers<T: OracleNumber> {
    var weights: [[T]]
    var a: [[T]]
    var b: [[T]]
  }

  /// The mean over all targets, in nats.
  func loss<T: OracleNumber>(_ numbers: Numbers<T>) -> T {
    let losses = sequences.flatMap { loss($0.tokens, $0.targets, numbers) }
    return losses.reduce(.zero, +) / T(Double(sequences.reduce(0) { $0 + $1.targets.count { $0 >= 0 } }))
  }

  private func loss<T: OracleNumber>(_ tokens: [Int], _ targets: [Int], _ numbers: Numbers<T>) -> [T] {
    let c = configuration
    let (n, epsilon) = (tokens.count, Double(c.normEpsilon))
    let table = numbers.weights[weights.embedding.index]
    var x = Oracle.embedding(tokens, weight: table, columns: c.hiddenSize)
    var (keys, values): ([T], [T]) = ([], [])
    for layer in 0..<c.layers {
      let scales = weights.keyValueScales[layer]
      func vector(_ role: ParameterRole) -> [T] { index(role, layer).map { numbers.weights[$0] } ?? [] }
      func linear(_ kind: LinearKind, _ x: [T]) -> [T] {
        let base = Oracle.linear(x, vector(.linear(kind)), inner: x.count / n)
        guard let entry = entry(layer, kind) else { return base }
        let update = Oracle.lora(x, a: numbers.a[entry], b: numbers.b[entry], scale: scale, inner: x.count / n)
        return zip(base, update).map { $0 + $1 }
      }
      // RoPE first, then the norm of each head.
      func heads(_ x: [T], _ norm: NormKind) -> [T] {
        let rotated = Oracle.rope(
          x, positions: Array(0..<n), frequencies: c.ropes[0].frequencies, columns: x.count / n,
          interleaved: c.ropes[0].pairing == .interleaved)
        return Oracle.rmsNorm(rotated, weight: vector(.norm(norm)), epsilon: Double(c.headNormEpsilon))
      }
      let normed = Oracle.rmsNorm(x, weight: vector(.norm(.attentionInput)), epsilon: epsilon)
      if index(.linear(.key), layer) != nil {
        keys = heads(linear(.key, normed), .key).map { straightThrough($0, scales.key) }
        values = linear(.value, normed).map { straightThrough($0, scales.value) }
      }
      let attended = Oracle.attention(
        q: heads(linear(.query, normed), .query), k: keys, v: values, heads: c.heads, keyValueHeads: c.keyValueHeads,
        headSize: c.headSize, scale: Double(c.attentionScale), sequences: [Oracle.Sequence(queries: 0..<n, own: 0)])
      x = zip(x, linear(.output, attended)).map { $0 + $1 }
      let middle = Oracle.rmsNorm(x, weight: vector(.norm(.feedForwardInput)), epsilon: epsilon)
      let activated = Oracle.swiglu(gate: linear(.gate, middle), up: linear(.up, middle))
      x = zip(x, linear(.down, activated)).map { $0 + $1 }
    }
    let final = weights.parameters.firstIndex { $0.name.tensor == "model.output_norm.weight" } ?? 0
    let hidden = Oracle.rmsNorm(x, weight: numbers.weights[final], epsilon: epsilon)
    let logits = Oracle.linear(hidden, table, inner: c.hiddenSize)
    return Oracle.crossEntropy(logits, targets: targets, columns: c.vocabularySize)
  }

  /// The index of a block's parameter, or nil where it has none.
  private func index(_ role: ParameterRole, _ layer: Int) -> Int? {
    DecoderWeights.declarations(of: configuration).parameters.firstIndex { $0.role == role && $0.layer == layer }
  }

  /// The level of an int8 grid, with the derivative of the number itself, or none where the code is at an end of its range.
  private func straightThrough<T: OracleNumber>(_ x: T, _ scale: Float?) -> T {
    guard let scale else { return x }
    let code = min(max((x.realPart / Double(scale)).rounded(.toNearestOrEven), -128), 127)
    let rounded = T(code * Double(scale))
    return code > -128 && code < 127 ? rounded + (x - T(x.realPart)) : rounded
  }
}
