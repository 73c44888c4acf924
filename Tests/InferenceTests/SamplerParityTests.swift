import DibitInference
import Testing

/// The steps and their order, against the processors of transformers 5.23.0 (on torch 2.13.0, in float64).
@Suite struct SamplerParityTests {
  struct Case {
    let logits: [Float]
    let recent: [Int32]
    let options: SamplingOptions
    let probabilities: [Double]

    init(
      _ logits: [Float], _ recent: [Int32], temperature: Float, topK: Int, topP: Float, minP: Float, penalty: Float,
      _ probabilities: [Double]
    ) {
      (self.logits, self.recent, self.probabilities) = (logits, recent, probabilities)
      options = sampling(temperature: temperature, topK: topK, topP: topP, minP: minP, penalty: penalty, window: .max, seed: 9)
    }
  }

  static let cases = [
    Case(
      [1.88, -2.79, -1.36, 0.74, -2.03, -0.14, 0.36, -1.66, -2.62, 0.39, 1.99, -1.29], [4, 2, 1, 9], temperature: 1.0, topK: 3, topP: 0.9,
      minP: 0, penalty: 0.8,
      [0.41049, 0.0, 0.0, 0.13128, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.45822, 0.0]),
    Case(
      [3.49, 1.74, -1.24, 2.24, -1.06, 1.39, -0.86, -1.04, -2.05, -0.7, -0.71, -0.1], [8, 0, 1, 11], temperature: 1.5, topK: 0, topP: 0.95,
      minP: 0.05, penalty: 1.0,
      [0.44229, 0.13773, 0.0, 0.19222, 0.0, 0.10907, 0.02434, 0.0, 0.0, 0.02708, 0.0269, 0.04039]),
    Case(
      [-0.39, -3.1, 4.12, 1.72, 0.64, 3.55, 1.56, 1.95, 5.31, 3.43, 4.98, -4.98], [7, 1, 4, 8], temperature: 1.0, topK: 0, topP: 0.9,
      minP: 0.2, penalty: 1.0,
      [0.0, 0.0, 0.15037, 0.0, 0.0, 0.0, 0.0, 0.0, 0.49428, 0.0, 0.35535, 0.0]),
    Case(
      [2.65, -0.61, -1.85, -1.14, -1.62, -1.12, -1.47, -0.76, 0.48, 1.19, -2.22, -1.9], [7, 1, 1, 10], temperature: 0.8, topK: 3, topP: 1.0,
      minP: 0, penalty: 0.8,
      [0.81461, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05407, 0.13133, 0.0, 0.0]),
    Case(
      [2.21, -1.16, -2.43, 1.97, -0.59, 3.61, 2.48, -3.44, -4.13, -2.62, -1.92, -1.05], [10, 10, 11, 5], temperature: 0.5, topK: 5,
      topP: 1.0, minP: 0.05, penalty: 0.8,
      [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    Case(
      [-2.64, -2.82, 0.14, 3.24, 1.05, 0.95, 0.5, -1.73, 0.37, -0.84, 1.88, 2.46], [0, 9, 10, 8], temperature: 0.5, topK: 0, topP: 1.0,
      minP: 0.2, penalty: 1.0,
      [0.0, 0.0, 0.0, 0.82635, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.17365]),
    Case(
      [-2.06, -1.62, -1.49, 1.21, 0.54, -0.07, 5.05, 0.69, 0.41, 0.94, 0.88, 3.48], [10, 0, 8, 6], temperature: 0.5, topK: 5, topP: 1.0,
      minP: 0, penalty: 1.0,
      [0.0, 0.0, 0.0, 0.00044, 0.0, 0.0, 0.95762, 0.0, 0.0, 0.00026, 0.00023, 0.04145]),
    Case(
      [-1.12, -1.48, 1.0, 2.14, 0.89, 0.23, 1.33, -0.1, -2.04, 2.52, 2.36, -3.81], [2, 11, 10, 3], temperature: 0.5, topK: 3, topP: 0.5,
      minP: 0.05, penalty: 0.8,
      [0.0, 0.0, 0.0, 0.36586, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.63414, 0.0]),
    Case(
      [-0.01, 2.7, -1.16, 0.44, -2.02, 0.36, -2.16, -1.0, -0.71, 1.74, 0.8, -1.3], [8, 11, 0, 7], temperature: 0.5, topK: 5, topP: 1.0,
      minP: 0.2, penalty: 1.3,
      [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    Case(
      [2.24, 2.54, -2.73, 0.31, -1.24, -2.37, 3.05, -2.46, 1.16, 1.27, -0.04, -3.76], [1, 0, 9, 3], temperature: 1.0, topK: 3, topP: 0.5,
      minP: 0, penalty: 0.8,
      [0.0, 0.53121, 0.0, 0.0, 0.0, 0.0, 0.46879, 0.0, 0.0, 0.0, 0.0, 0.0]),
  ]

  @Test(arguments: cases.indices)
  func transformers(index: Int) throws {
    let one = Self.cases[index]
    let drawn = try draw(one.options, one.logits, count: 5000, behind: one.recent)
    let result = chiSquare(drawn, one.probabilities)
    #expect(result.value <= result.bound)
    // The test's own definition of the steps is the same; probabilities above have five decimals, options are floats here.
    let plain = plainDistribution(one.options, one.logits, behind: one.recent, allowed: nil)
    for (a, b) in zip(plain, one.probabilities) { #expect(abs(a - b) <= 0.5e-5 + 1e-6) }
  }
}
