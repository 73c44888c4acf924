/// The precision with which a cache for inference keeps keys and values; models with static scales always use theirs.
package enum KeyValuePrecision: String, CaseIterable, Sendable {
  /// One byte for each, and a scale for each token and head.
  case int8
  case float16
  case float32
}
