import DibitTestSupport
import Testing

/// What a recipe for a new model may not ask for is told before any work.
@Suite struct PretrainCommandTests {
  @Test(
    "a shape that cannot be, or sequences that the model cannot read",
    arguments: [
      ("model.num_heads=3", "'model.num_heads': expected a divisor of the hidden size 16, found '3'"),
      ("model.num_kv_heads=4", "'model.num_kv_heads': expected a divisor of the 2 heads, found '4'"),
      ("model.num_heads=16", "'model.hidden_dim' over 'model.num_heads': expected an even number, found '1'"),
      ("model.num_kv_reuse_layers=2", "'model.num_kv_reuse_layers': expected less than the 2 layers, found '2'"),
      ("max_seq_length=128", "'max_seq_length': expected at most 64, the model's 'max_position_embeddings', found '128'"),
    ])
  func shapes(setting: String, fault: String) throws {
    let scratch = Scratch()
    try scratch.write(TinyCheckpoint.sentences.joined(separator: ". "), to: "text/a.txt")
    let recipe = try scratch.write(
      """
      data: \(scratch("text"))
      model: {vocab_size: 300, hidden_dim: 16, num_layers: 2, num_heads: 2, num_kv_heads: 1, max_position_embeddings: 64}
      steps: 1
      """, to: "recipe.yaml")
    try expectFailure(
      ["pretrain", recipe, "-o", scratch("base"), "--set", "max_seq_length=16", "--set", setting], status: 65,
      message: "\(recipe): \(fault)")
    #expect(!exists(scratch("base")))
  }
}
