internal import BasicContainers
internal import DibitKernels

/// The keys and values of every layer that has its own.
@safe
public struct KeyValueCache: ~Copyable, Sendable {
  /// Rows that fit.
  public let capacity: Int
  var keys: UniqueArray<KeyValueRows>
  var values: UniqueArray<KeyValueRows>

  /// Room for `capacity` rows.
  ///
  /// A cache for training keeps rounded floats, which the backward pass reads; one for decoding keeps int8 codes where the model
  /// has static scales.
  public init(_ configuration: ModelConfiguration, weights: DecoderWeights, capacity: Int, forTraining: Bool) {
    self.capacity = capacity
    keys = UniqueArray()
    values = UniqueArray()
    let columns = configuration.keyColumns
    func storage(_ scale: Float?) -> KeyValueRows.Storage {
      guard let scale else { return .floats }
      return forTraining ? .roundedFloats(scale: scale) : .int8(scale: scale)
    }
    for block in weights.blocks.prefix(configuration.keyValueLayers) {
      keys.append(KeyValueRows(rows: capacity, columns: columns, storage: storage(block.keyScale)))
      values.append(KeyValueRows(rows: capacity, columns: columns, storage: storage(block.valueScale)))
    }
  }

  /// Bytes that the cache takes.
  public var byteCount: Int {
    var total = 0
    for i in 0..<keys.count { total += keys[i].byteCount + values[i].byteCount }
    return total
  }

  /// The largest key and value magnitude of a layer in the first `rows` rows, to choose static scales from.
  public func largestMagnitudes(layer: Int, rows: Int) -> (key: Float, value: Float) {
    (keys[layer].largestMagnitude(rows: rows), values[layer].largestMagnitude(rows: rows))
  }
}
