package import DibitJSON

/// The findings of a benchmark; rates and times are medians over the runs.
package struct BenchmarkReport: Equatable, Sendable {
  /// The shape, or the path of the model.
  package var shape: String
  /// The tier of the kernels.
  package var isa: String
  /// Threads that share an op.
  package var threads: Int
  /// The library that runs matrix products.
  package var productLibrary: String
  /// The options of the measurement.
  package var options: BenchmarkOptions
  /// Decoded tokens per second, one sequence.
  package var decode: Measurement
  /// Tokens of the prompt per second.
  package var prefill: Measurement
  /// From opening the files, which the system has in memory, to the token behind a prompt of 16.
  package var firstToken: Measurement
  /// From opening the files to a session that can take tokens.
  package var load: Measurement
  /// Bytes of weights that a decoded token reads.
  package var weightBytesPerToken: Int
  /// Bytes per second that this machine reads from memory with as many threads, before and after each run of decoding.
  package var readBandwidth: Measurement
  /// The share of the machine's bandwidth that decoding uses for weights: each run against the moments before and after it.
  package var bandwidthFraction: Measurement
  /// The most memory held at once while the model was measured, mapped weights included; nil where the system does not say.
  package var peakMemory: Int?

  /// For machines.
  package var json: JSONValue {
    func spread(_ measurement: Measurement) -> JSONValue {
      [.number(measurement.spread.lowerBound), .number(measurement.spread.upperBound)]
    }
    return [
      "shape": .string(shape), "isa": .string(isa), "threads": .integer(threads), "decode_tokens_per_second": .number(decode.median),
      "prefill_tokens_per_second": .number(prefill.median), "first_token_seconds": .number(firstToken.median),
      "load_seconds": .number(load.median), "weight_bytes_per_token": .integer(weightBytesPerToken),
      "read_bandwidth_bytes_per_second": .number(readBandwidth.median), "decode_bandwidth_fraction": .number(bandwidthFraction.median),
      "peak_memory_bytes": peakMemory.map { .integer($0) } ?? .null, "decode_spread": spread(decode), "prefill_spread": spread(prefill),
      "first_token_spread": spread(firstToken), "load_spread": spread(load), "read_bandwidth_spread": spread(readBandwidth),
      "decode_bandwidth_fraction_spread": spread(bandwidthFraction), "runs": .integer(options.runs),
      "prompt_tokens": .integer(options.promptTokens), "decode_tokens": .integer(options.decodeTokens),
      "context": .integer(options.context), "product_library": .string(productLibrary),
    ]
  }
}
