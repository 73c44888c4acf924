@testable import DibitCheckpoint
@testable import DibitFiles
import DibitJSON
import DibitModelStore
import DibitTensor
import Testing

private let stories = "../shared/data/stories260k/"

@Suite struct Llama2CModelTests {
  @Test func theTranslationHasTheBitsOfTheHuggingFaceFile() throws {
    guard FileStatus(path: stories + "stories260K.bin", followingLinks: false) != nil else {
      print("skipped: \(stories) is not there")
      return
    }
    let container = try Llama2CContainer(MappedFile(path: stories + "stories260K.bin"))
    let original = try Checkpoint(path: "stories260K.bin", format: .llama2c, containers: [container])
    let parameters = try #require(Llama2CParameters(metadata: original.metadata))
    #expect(parameters == container.parameters)
    let translation = Llama2CModel.translation(of: parameters)
    let (translated, expected) = (try original.viewed(translation.views), try Checkpoint.open(stories + "hf"))
    #expect(Set(translated.tensorNames) == Set(expected.tensorNames) && translated.tensorNames.count == 47)
    for name in expected.tensorNames {
      #expect(translated.info(name)?.shape == expected.info(name)?.shape)
      #expect(try translated.readMatrix(name).values.map(\.bitPattern) == expected.readMatrix(name).values.map(\.bitPattern), "\(name)")
    }
    // Everything that the Hugging Face file says, llama2.c says too.
    let json = try JSONValue(parsing: readFile(stories + "hf/config.json", limit: 1 << 16), depthLimit: 16)
    for (key, value) in try #require(json.object).members { #expect(translation.configuration[key] == value, "\(key)") }
  }

  @Test func anUnsharedClassifierIsTheOutputLayer() throws {
    let metadata = [
      ("version", 1), ("dim", 8), ("hidden_dim", 12), ("n_layers", 2), ("n_heads", 2), ("n_kv_heads", 1), ("vocab_size", 5),
      ("max_seq_len", 4), ("shared_classifier", 0), ("group_size", 0),
    ].map { (key: "llama2.c." + $0.0, value: "\($0.1)") }
    let parameters = try #require(Llama2CParameters(metadata: metadata))
    let translation = Llama2CModel.translation(of: parameters)
    #expect(translation.configuration["tie_word_embeddings"] == false)
    #expect(translation.views.count == 2 * 9 + 3 && translation.views.last == TensorView("lm_head.weight", from: "output.weight"))
    let keys = try #require(translation.views.first { $0.name == "model.layers.1.self_attn.k_proj.weight" })
    #expect(keys.split == [1, 2, 2, 8] && keys.order == [0, 2, 1, 3] && keys.shape == [4, 8])
    #expect(Llama2CParameters(metadata: Array(metadata.dropLast())) == nil)
  }
}
