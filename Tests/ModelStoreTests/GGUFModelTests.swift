import DibitCheckpoint
import DibitJSON
import DibitTensor
import Testing

@testable import DibitModelStore

private let stories = "../shared/data/stories260k"

@Suite struct GGUFModelTests {
  @Test func storiesAreTheHuggingFaceCheckpoint() throws {
    guard let file = try? Checkpoint.open(stories + "/stories260K.gguf"), let hugging = try? Checkpoint.open(stories + "/hf") else {
      print("skipped: \(stories) is not there")
      return
    }
    let gguf = try #require(file.gguf)
    let translation = try GGUFModel.translate(gguf)
    let views = try file.viewed(translation.views)
    #expect(Set(views.tensorNames) == Set(hugging.tensorNames))
    for name in hugging.tensorNames {
      #expect(views.info(name)?.shape == hugging.info(name)?.shape)
      let (one, other) = (try views.readVector(name), try hugging.readVector(name))
      #expect(one.map(\.bitPattern) == other.map(\.bitPattern), "\(name)")
    }
    let config = translation.configuration
    #expect(config["tie_word_embeddings"] == true, "output.weight repeats the embedding")
    #expect(config["model_type"] == "llama" && config["rms_norm_eps"] == .number(1e-5) && config["vocab_size"] == 512)
    #expect(config["max_position_embeddings"] == 2048, "what the file says")
  }
}
