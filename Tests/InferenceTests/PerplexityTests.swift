import DibitInference
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTestSupport
import DibitTokenizer
import Glibc
import Testing

@Suite struct PerplexityTests {
  /// Losses of the tokens of `windows` behind the first `known` of each, by decoding one token at a time.
  private func plainLosses(_ windows: [[Int32]], known: Int, _ model: StoredModel) throws -> [Double] {
    var session = makeSession(model)
    var losses: [Double] = []
    for window in windows {
      session.rewind()
      for (index, token) in window.enumerated() {
        if index >= known { losses.append(-plainLogProbabilities(session.lastLogits)[Int(token)]) }
        try session.append([token])
      }
    }
    return losses
  }

  private func measured(_ model: StoredModel) -> MeasuredModel { MeasuredModel(model.configuration, weights: model.weights) }

  @Test func perplexityIsTheMeanLoss() throws {
    let model = try makeModel("afm7")
    let text = tokens(30)
    let result = Perplexity.measure(text, configuration: model.configuration, weights: model.weights, window: 16, on: compute)
    let losses = try plainLosses([Array(text.prefix(16)), Array(text.suffix(14))], known: 1, model)
    #expect(result.tokens == 28)
    #expect(losses.count == 28)
    #expect(abs(result.loss - losses.reduce(0, +) / 28) <= 1e-4)  // float32, and int8 keys that may round to the next code
    #expect(abs(result.value - exp(result.loss)) <= 1e-12 * result.value)
    #expect(result.seconds > 0)
    #expect(abs(result.bitsPerByte(bytes: 100) - result.loss * 28 / log(2) / 100) <= 1e-12)
  }

  @Test("windows do not reach across documents, and begin with what begins a text")
  func documents() throws {
    let model = try makeModel("llama")
    let (first, second, third) = (tokens(45), tokens(70, seed: 8), tokens(1, seed: 9))
    for prefix in [[], [2], [2, 5]] as [[Int32]] {
      var text = MeasuredText(window: 40, prefix: prefix)
      for document in [first, second, third] { text.append(document) }
      let step = 40 - prefix.count
      let windows = [first, second, third].flatMap { document in
        stride(from: 0, to: document.count, by: step).map { prefix + document[$0..<min($0 + step, document.count)] }
      }
      let known = max(prefix.count, 1)
      let losses = try plainLosses(windows, known: known, model)
      #expect(text.documents == 3)
      #expect(text.tokens == (prefix.isEmpty ? 116 - 5 : 116))
      #expect(losses.count == text.tokens)
      let result = Perplexity.measure(text, model: measured(model), on: compute)
      #expect(result.tokens == text.tokens)
      #expect(abs(result.loss - losses.reduce(0, +) / Double(losses.count)) <= 1e-5)
    }
  }

  @Test("of conversations only the answers count, each behind all that was said before")
  func conversations() throws {
    let model = try makeModel("llama")
    let (first, second) = (tokens(90), tokens(20, seed: 8))
    var text = MeasuredText(window: 90, prefix: [2])
    text.append(first, predicted: [4..<9, 20..<75, 89..<90], bytes: 30)
    text.append(second, predicted: [1..<2], bytes: 4)
    #expect(text.documents == 2 && text.tokens == 62 && text.bytes == 34)
    #expect(text.windows.map(\.tokens) == [first, second])
    // Losses of the tokens from the second on.
    let (one, other) = (try plainLosses([first], known: 1, model), try plainLosses([second], known: 1, model))
    let losses = one[3..<8] + one[19..<74] + one[88...] + other[..<1]
    let result = Perplexity.measure(text, model: measured(model), on: compute)
    #expect(result.tokens == 62)
    #expect(abs(result.loss - losses.reduce(0, +) / 62) <= 1e-4)
    let beside = PerplexityComparison.measure(text, model: measured(model), reference: measured(model), on: compute)
    #expect(beside.model.loss == result.loss && beside.divergence == 0 && beside.model.tokens == 62)
  }

  @Test func bytesOfPredictedText() throws {
    let tokenizer = try TinyCheckpoint.makeTokenizer()
    let sentence = "the goal of the match was late"
    let ids = tokenizer.encode(sentence, addingSpecialTokens: false)
    var text = MeasuredText(window: 4, tokenizer: tokenizer)
    text.append(ids, bytes: sentence.utf8.count, tokenizer: tokenizer)
    // This tokenizer begins no text by itself, so the first token of each four is not predicted.
    let predicted = ids.indices.filter { $0 % 4 != 0 }
    #expect(text.tokens == predicted.count)
    #expect(text.bytes == predicted.reduce(0) { $0 + tokenizer.bytes(of: ids[$1]).count })
    #expect(ids.count > 4)
    var begun = MeasuredText(window: 4, prefix: [1])
    begun.append(ids, bytes: sentence.utf8.count, tokenizer: tokenizer)
    #expect(begun.tokens == ids.count)
    #expect(begun.bytes == sentence.utf8.count)
  }

  @Test func stopping() throws {
    let model = try makeModel("llama")
    var text = MeasuredText(window: 10)
    text.append(tokens(50))
    var calls: [Int] = []
    let result = Perplexity.measure(text, model: measured(model), on: compute) {
      calls.append($0)
      return calls.count < 2
    }
    #expect(calls == [9, 18])
    #expect(result.tokens == 18)
    #expect(Perplexity.measure(MeasuredText(window: 10), model: measured(model), on: compute).loss.isNaN)
  }

  @Test("a model does not diverge from itself", arguments: ["llama", "afm7"])
  func itself(family: String) throws {
    let model = try makeModel(family)
    var text = MeasuredText(window: 100)
    text.append(tokens(250))
    let result = PerplexityComparison.measure(text, model: measured(model), reference: measured(model), on: compute)
    #expect(result.divergence == 0)
    #expect(result.standardError == 0)
    #expect(result.percentile99 == 0)
    #expect(result.agreement == 1)
    #expect(result.ratio == 1)
    #expect(result.model.tokens == 247)
    let alone = Perplexity.measure(text, model: measured(model), on: compute)
    #expect(result.model.loss == alone.loss)
    #expect(result.reference.loss == alone.loss)
  }

  @Test func divergenceByDefinition() throws {
    let scratch = Scratch()
    let reference = try makeModel("llama")
    let other = try StoredModel.open(try TinyCheckpoint.llama(seed: 77).write(to: scratch))
    let document = tokens(60)
    var text = MeasuredText(window: 32)
    text.append(document)
    let result = PerplexityComparison.measure(text, model: measured(other), reference: measured(reference), on: compute)

    var left = makeSession(other)
    var right = makeSession(reference)
    var (nats, agreeing): ([Double], Int) = ([], 0)
    for window in [document[..<32], document[32...]] {
      left.rewind()
      right.rewind()
      for token in window.dropLast() {
        try left.append([token])
        try right.append([token])
        let (q, p) = (plainLogProbabilities(left.lastLogits), plainLogProbabilities(right.lastLogits))
        nats.append(zip(p, q).reduce(0.0) { $0 + exp($1.0) * ($1.0 - $1.1) })
        let tops = [p, q].map { row in row.indices.max { row[$0] != row[$1] ? row[$0] < row[$1] : $0 > $1 } }
        agreeing += tops[0] == tops[1] ? 1 : 0
      }
    }
    let mean = nats.reduce(0, +) / 58
    let deviation = (nats.reduce(0.0) { $0 + ($1 - mean) * ($1 - mean) } / 57).squareRoot()
    #expect(nats.count == 58)
    #expect(mean > 0.1)
    // Logits of order one, rounded in other orders.
    #expect(abs(result.divergence - mean) <= 1e-5)
    #expect(abs(result.standardError - deviation / 58.0.squareRoot()) <= 1e-5)
    #expect(abs(result.percentile99 - nats.sorted()[57]) <= 1e-4)
    #expect(result.agreement == Double(agreeing) / 58)
    #expect(result.model.loss == Perplexity.measure(text, model: measured(other), on: compute).loss)
    #expect(result.ratio == result.model.value / result.reference.value)
  }

  @Test("an adapter is measured with its model")
  func adapted() throws {
    let model = try makeModel("llama")
    var text = MeasuredText(window: 20)
    text.append(tokens(40))
    let plain = Perplexity.measure(text, model: measured(model), on: compute)
    let zero = MeasuredModel(model.configuration, weights: model.weights, adapter: LoadedAdapter(.none(for: model.weights)))
    #expect(Perplexity.measure(text, model: zero, on: compute).loss == plain.loss)
  }
}
