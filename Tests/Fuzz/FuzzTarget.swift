import DibitCheckpoint
import DibitDataset
import DibitJSON
import DibitJinja
import DibitModel
import DibitModelStore
import DibitTensor
import DibitTestSupport
import DibitTokenizer
import Glibc

/// The parsers, each of which must take any bytes. HDF5 is read by a child process, which is too slow for millions of executions;
/// HDF5FuzzTests mutates its files instead.
enum FuzzTarget: String, CaseIterable {
  case json
  case config
  case keras
  case safetensors
  case gguf
  case llama2c
  case zip
  case pickle
  case ggufModel = "gguf-model"
  case tokenizer
  case sentencePiece = "sentencepiece"
  case llama2cTokenizer = "llama2c-tokenizer"
  case jinja
  case csv
  case jsonl

  func run(_ bytes: [UInt8]) {
    switch self {
    case .json: _ = try? JSONValue(parsing: bytes, depthLimit: 64)
    case .config: if let json = try? JSONValue(parsing: bytes, depthLimit: 64) { _ = try? ModelConfiguration(json: json) }
    case .keras:
      guard let json = try? JSONValue(parsing: bytes, depthLimit: 64), KerasModel.recognises(json) else { return }
      _ = try? KerasModel.translate(json, tensors: FuzzSeeds.kerasTensors, path: "fuzz")
    case .safetensors: checkpoint(bytes)
    case .gguf: checkpoint(FuzzSeeds.beginning(bytes, with: Array("GGUF".utf8)))
    case .llama2c: checkpoint(bytes)
    case .zip: checkpoint(FuzzSeeds.beginning(bytes, with: [0x50, 0x4B, 3, 4]))
    // An archive whose checksums are right, around any pickle.
    case .pickle: checkpoint(ZipMaker.torch(bytes, [(key: "0", data: [UInt8](repeating: 1, count: 64))]).make().bytes)
    case .ggufModel: ggufModel(FuzzSeeds.beginning(bytes, with: Array("GGUF".utf8)))
    case .tokenizer: use(try? Tokenizer(parsing: bytes))
    case .sentencePiece: use(try? Tokenizer(sentencePiece: bytes, addingBeginning: (bytes.last ?? 0) & 1 == 1))
    case .llama2cTokenizer: use(try? Tokenizer(llama2c: bytes, vocabularySize: 259 + Int(bytes.last ?? 0)))
    case .jinja: jinja(bytes)
    case .csv: rows(bytes, named: "d.csv")
    case .jsonl: rows(bytes, named: "d.jsonl")
    }
  }

  /// Reads rows with options from the last byte, looks at them as a survey does, and splits them.
  private func rows(_ bytes: [UInt8], named name: String) {
    var options = RowOptions()
    let last = bytes.last ?? 0
    options.toleratesFaults = last & 1 == 1
    options.labelSeparator = last & 2 == 2 ? ";" : nil
    options.answers = last & 4 == 4 ? .last : .all
    options.maximumRowBytes = 512
    guard var dataset = try? Dataset.read(bytes: bytes, named: name, rows: options) else { return }
    _ = DatasetSurvey(dataset)
    dataset.splitAutomatically(seed: 1)
    _ = dataset.digest
  }

  /// Opens a file of any format and reads every tensor that is not larger than the largest file would need.
  private func checkpoint(_ bytes: [UInt8]) {
    guard let checkpoint = try? Checkpoint.open(bytes: Bytes(SharedBytes(bytes)), named: "fuzz") else { return }
    for name in checkpoint.tensorNames {
      guard let info = checkpoint.info(name), info.count <= 1 << 16 else { continue }
      _ = try? checkpoint.readVector(name)
    }
  }

  private func ggufModel(_ bytes: [UInt8]) {
    let bytes = Bytes(SharedBytes(bytes))
    guard let file = try? GGUFFile(bytes, file: "fuzz") else { return }
    use(try? Tokenizer(gguf: GGUFVocabulary(file)))
    guard let translation = try? GGUFModel.translate(file), (try? ModelConfiguration(json: translation.configuration)) != nil else {
      return
    }
    guard let checkpoint = try? Checkpoint.open(bytes: bytes, named: "fuzz").viewed(translation.views) else { return }
    for name in checkpoint.tensorNames where checkpoint.info(name)?.count ?? .max <= 1 << 16 { _ = try? checkpoint.readVector(name) }
  }

  private func use(_ tokenizer: Tokenizer?) {
    guard let tokenizer else { return }
    let ids = tokenizer.encode("a  é 12345 \u{1F600}\n<s>ab the", parsingSpecialTokens: true)
    _ = tokenizer.decode(ids)
    _ = tokenizer.serialized()
  }

  private func jinja(_ bytes: [UInt8]) {
    guard let template = try? JinjaChatTemplate(jinja: String(decoding: bytes, as: UTF8.self), specialTokens: [("bos_token", "<s>")])
    else { return }
    var limits = JinjaLimits()
    (limits.operations, limits.outputBytes, limits.elements, limits.depth) = (20_000, 1 << 16, 1 << 12, 64)
    let messages: [JSONValue] = [["role": "user", "content": "Hi\n"], ["role": "assistant", "content": "Ho"]]
    _ = try? template.render(messages, tools: [["name": "f"]], limits: limits)
  }
}

/// The value of an environment variable.
func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

/// Ends the process.
func exitNow(_ code: Int32) -> Never { exit(code) }
