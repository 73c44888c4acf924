internal import DibitTensor

/// A tensor of a llama2.c file.
struct Llama2CTensor: Equatable, Sendable {
  let name: String
  let shape: [Int]
  /// True where it is stored in 8-bit groups.
  let isQuantized: Bool
  /// The bytes of its elements, and of the scales that follow them.
  let elements: Range<Int>
  let scales: Range<Int>
}

/// The offsets of the tensors in a llama2.c file. The order is fixed: the header tells everything.
struct Llama2CLayout {
  let tensors: [Llama2CTensor]
  /// The size of the whole file.
  let byteCount: Int

  private typealias Part = (name: String, shape: [Int], layers: Bool)

  /// The size first, so that nothing is allocated for a file that is too short for its header.
  init(_ parameters: Llama2CParameters, fileBytes: Int) throws(Llama2CFault) {
    let parts = Self.parts(parameters)
    let header = parameters.version == 0 ? 28 : 256
    byteCount = parts.reduce(header) { sum, part in
      sum + (part.layers ? parameters.layerCount : 1) * Self.size(part, parameters).all
    }
    guard byteCount == fileBytes else { throw .size(expectedBytes: byteCount, foundBytes: fileBytes) }
    var tensors: [Llama2CTensor] = []
    var position = header
    for part in parts {
      let size = Self.size(part, parameters)
      for layer in 0..<(part.layers ? parameters.layerCount : 1) {
        let end = position + size.elements
        // The tables of rotary angles in version 0 follow from the other numbers.
        if !part.name.isEmpty {
          tensors.append(
            Llama2CTensor(
              name: part.layers ? "layers.\(layer)." + part.name : part.name, shape: part.shape, isQuantized: size.all > size.elements,
              elements: position..<end, scales: end..<position + size.all))
        }
        position += size.all
      }
    }
    self.tensors = tensors
  }

  private static func size(_ part: Part, _ parameters: Llama2CParameters) -> (elements: Int, all: Int) {
    let count = part.shape.reduce(1, *)
    guard parameters.version == 2, part.shape.count == 2 else { return (elements: count * 4, all: count * 4) }
    return (elements: count, all: count + count / parameters.groupSize * 4)
  }

  private static func parts(_ p: Llama2CParameters) -> [Part] {
    let (C, F, V, K) = (p.dimension, p.hiddenDimension, p.vocabularySize, p.keyValueHeadCount * p.headSize)
    let embedding: Part = ("tok_embeddings.weight", [V, C], false)
    let attentionNorm: Part = ("attention_norm.weight", [C], true)
    let attention: [Part] = [
      ("attention.wq.weight", [C, C], true), ("attention.wk.weight", [K, C], true), ("attention.wv.weight", [K, C], true),
      ("attention.wo.weight", [C, C], true),
    ]
    let feedForwardNorm: Part = ("ffn_norm.weight", [C], true)
    let feedForward: [Part] = [
      ("feed_forward.w1.weight", [F, C], true), ("feed_forward.w2.weight", [C, F], true), ("feed_forward.w3.weight", [F, C], true),
    ]
    let norm: Part = ("norm.weight", [C], false)
    let output: [Part] = p.sharesClassifier ? [] : [("output.weight", [V, C], false)]
    guard p.version == 0 else {
      return [attentionNorm, feedForwardNorm, norm, embedding] + attention + feedForward + output
    }
    let angles: Part = ("", [p.sequenceLength * (p.headSize / 2)], false)
    return [embedding, attentionNorm] + attention + [feedForwardNorm] + feedForward + [norm, angles, angles] + output
  }
}
