/// An architecture by the `model_type` of its config.json.
public enum ModelFamily: String, CaseIterable, Sendable {
  case llama
  case afm7
}
