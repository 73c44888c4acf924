internal import FoundationEssentials

extension MalformedFile {
  /// A committed file of Tests/Fixtures; empty when it is not there, which no fault below is.
  private static func fixture(_ path: String) -> [UInt8] {
    let tests = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    return (try? contents("/\(tests)/Fixtures/\(path)")) ?? []
  }

  private static let llama =
    #"{"model_type":"llama","vocab_size":8,"hidden_size":4,"intermediate_size":8,"num_hidden_layers":1,"num_attention_heads":2}"#

  /// HDF5 files that reach out of themselves, promise more than they hold, or hold what is no tensor.
  static var hdf5: [MalformedFile] {
    func model(_ description: String, _ bytes: [UInt8], says: String) -> MalformedFile {
      MalformedFile(
        "HDF5: " + description, [(name: "config.json", bytes: Array(llama.utf8)), (name: "model.weights.h5", bytes: bytes)], says: says)
    }
    func file(_ description: String, _ name: String, says: String) -> MalformedFile {
      model(description, fixture("hdf5/\(name).h5"), says: says)
    }
    let plain = fixture("hdf5/plain.h5")
    var beyond = plain
    // The end of the file in the superblock of version 0 is at byte 40, in that of version 2 and 3 at byte 28.
    if plain.count > 48 { for index in 0..<8 { beyond[(plain[8] < 2 ? 40 : 28) + index] = 0x7F } }
    return [
      file("external storage (CVE-2026-1669)", "external-storage", says: "/etc/passwd"),
      file("a link to another file", "external-link", says: "a link to another file"),
      file("a soft link to a link to another file", "soft-to-external", says: "'first'"),
      file("a link of a kind that libraries may define", "user-link", says: "link"),
      file("a link to nothing", "dangling", says: "'link'"),
      file("a virtual dataset", "virtual", says: "virtual"),
      file("a shape of four terabytes (CVE-2026-0897)", "shape-bomb", says: "weights"),
      file("data that was never written", "unwritten", says: "weights"),
      file("a chunk that is missing", "hole", says: "weights"),
      file("16 MB in 20 bytes", "inflated", says: "weights"),
      file("a chunk of 256 MB", "large-chunk", says: "weights"),
      file("a compound (CVE-2016-4333)", "compound", says: "a compound"),
      file("sequences", "sequence", says: "a sequence of variable length"),
      file("references", "reference", says: "a reference"),
      file("texts", "strings", says: "a string"),
      file("nine dimensions", "rank", says: "weights"),
      file("a filter that is a plug-in", "lzf", says: "lzf"),
      file("groups that contain each other", "cycle", says: "16"),
      file("groups nested deep", "deep", says: "16"),
      model("cut short", Array(plain.prefix(plain.count / 2)), says: "model.weights.h5"),
      model("an end far beyond the file", beyond, says: "model.weights.h5"),
      model("a signature only", Array(plain.prefix(8)), says: "model.weights.h5"),
    ]
  }

  /// Configurations of Keras that do not fit, or that ask for code.
  static var keras: [MalformedFile] {
    let weights = fixture("keras/llama/model.weights.h5")
    let good = String(decoding: fixture("keras/llama/config.json"), as: UTF8.self)
    func config(_ description: String, _ text: String, says: String) -> MalformedFile {
      MalformedFile(
        "Keras: " + description, [(name: "config.json", bytes: Array(text.utf8)), (name: "model.weights.h5", bytes: weights)], says: says)
    }
    func backbone(_ name: String, _ members: String) -> String { #"{"class_name":"\#(name)","config":{\#(members)}}"# }
    let sizes =
      #""vocabulary_size":8,"num_query_heads":2,"num_key_value_heads":1,"hidden_dim":4,"intermediate_dim":8,"layer_norm_epsilon":1e-6"#
    return [
      config("a Lambda layer with code (CVE-2025-1550)", backbone("Lambda", #""function":"os.system""#), says: "class_name"),
      config("a module to import", good.replacing("LlamaBackbone", with: "__import__"), says: "class_name"),
      config("2^24 layers", backbone("LlamaBackbone", sizes + #","num_layers":16777216"#), says: "num_layers"),
      config("2^63 layers", backbone("LlamaBackbone", sizes + #","num_layers":9223372036854775808"#), says: "num_layers"),
      config("no layers", backbone("LlamaBackbone", sizes + #","num_layers":0"#), says: "num_layers"),
      config("an argument that is not known", backbone("LlamaBackbone", sizes + #","num_layers":1,"experts":8"#), says: "experts"),
      config("quantised weights", backbone("LlamaBackbone", sizes + #","num_layers":1,"dtype":"int8_from_float32""#), says: "dtype"),
      config("sizes of another model", backbone("LlamaBackbone", sizes + #","num_layers":1"#), says: "shape"),
    ]
  }
}
