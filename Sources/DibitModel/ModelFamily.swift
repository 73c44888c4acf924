/// An architecture by the `model_type` of its config.json.
///
/// A family is data: how its config.json is read (`ModelConfiguration+Families.swift`) and what its tensors are called
/// (`ParameterNames.swift`). There is one decoder.
package enum ModelFamily: String, CaseIterable, Sendable {
  case llama, mistral, qwen2, qwen3, gemma, gemma2, gemma3 = "gemma3_text", smollm3, phi3, olmo2, gpt2, gptNeoX = "gpt_neox", afm7
}
