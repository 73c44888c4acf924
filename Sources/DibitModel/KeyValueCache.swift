internal import BasicContainers
package import DibitKernels
internal import DibitTensor

/// The keys and values of every layer that has its own.
@safe
package struct KeyValueCache: ~Copyable, Sendable {
  /// Rows that fit.
  package let capacity: Int
  var keys: UniqueArray<KeyValueRows>
  var values: UniqueArray<KeyValueRows>

  /// Room for `capacity` rows.
  ///
  /// A cache for training keeps floats, on the grid of the model's static scales if it has such: the backward pass reads them. One for
  /// inference keeps codes of those scales, or else what `precision` says.
  package init(
    _ configuration: ModelConfiguration, weights: DecoderWeights, capacity: Int, forTraining: Bool, precision: KeyValuePrecision = .int8
  ) {
    self.capacity = capacity
    keys = UniqueArray()
    values = UniqueArray()
    let (columns, heads) = (configuration.keyColumns, configuration.keyValueHeads)
    func storage(_ scale: Float?) -> KeyValueRows.Storage {
      if let scale { return forTraining ? .roundedFloats(scale: scale) : .int8(scale: scale) }
      if forTraining { return .floats }
      return switch precision {
      case .int8: .int8PerHead
      case .float16: .float16
      case .float32: .floats
      }
    }
    for scales in weights.keyValueScales.prefix(configuration.keyValueLayers) {
      keys.append(KeyValueRows(rows: capacity, columns: columns, heads: heads, storage: storage(scales.key)))
      values.append(KeyValueRows(rows: capacity, columns: columns, heads: heads, storage: storage(scales.value)))
    }
  }

  /// Writes the rows that `segments` name of a layer's keys and values `[n, K D]`, which are rounded in place where the cache rounds them.
  mutating func write(
    _ key: inout Matrix, _ value: inout Matrix, layer: Int, segments: borrowing Segments, on compute: Compute
  ) {
    keys[layer].write(&key, segments: segments, on: compute)
    values[layer].write(&value, segments: segments, on: compute)
  }

  /// Copies rows to other rows of the cache, which they do not overlap: what many texts begin with is computed once.
  package mutating func copyRows(_ range: Range<Int>, to start: Int) {
    for i in 0..<keys.count {
      keys[i].copyRows(range, to: start)
      values[i].copyRows(range, to: start)
    }
  }

  /// Bytes that the cache takes.
  package var byteCount: Int {
    var total = 0
    for i in 0..<keys.count { total += keys[i].byteCount + values[i].byteCount }
    return total
  }

  /// The largest key and value magnitude of a layer in the first `rows` rows, to choose static scales from.
  package func largestMagnitudes(layer: Int, rows: Int) -> (key: Float, value: Float) {
    (keys[layer].largestMagnitude(rows: rows), values[layer].largestMagnitude(rows: rows))
  }
}
