/// The linear layers of a decoder block, in the order in which the forward pass uses them.
package enum LinearKind: Int, CaseIterable, Sendable {
  case query, key, value, output, gate, up, down
  /// Queries, keys and values from one layer, where a family has it.
  case queryKeyValue
  /// Gate and up from one layer, where a family has it.
  case gateUp

  /// The name that recipes use for it, and PEFT in most families.
  package var targetName: String {
    switch self {
    case .query: "q_proj"
    case .key: "k_proj"
    case .value: "v_proj"
    case .output: "o_proj"
    case .gate: "gate_proj"
    case .up: "up_proj"
    case .down: "down_proj"
    case .queryKeyValue: "qkv_proj"
    case .gateUp: "gate_up_proj"
    }
  }
}
