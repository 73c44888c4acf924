/// The linear layers of a decoder block, in the order in which the forward pass uses them.
public enum LinearKind: Int, CaseIterable, Sendable {
  case query, key, value, output, gate, up, down

  /// The name that recipes and PEFT use for it.
  public var targetName: String {
    switch self {
    case .query: "q_proj"
    case .key: "k_proj"
    case .value: "v_proj"
    case .output: "o_proj"
    case .gate: "gate_proj"
    case .up: "up_proj"
    case .down: "down_proj"
    }
  }

  /// The names that a family may give its module.
  public var moduleNames: [String] { self == .output ? ["o_proj", "out_proj"] : [targetName] }
}
