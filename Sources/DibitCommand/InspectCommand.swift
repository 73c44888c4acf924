internal import ArgumentParser
internal import DibitCheckpoint
internal import DibitJSON
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
internal import DibitTensor

struct InspectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Explain a model, an adapter, a checkpoint or a file with tensors.",
    discussion: """
      Example: dibit inspect ./model --tensors

      A sound file that is no model, or one of an architecture that Dibit does not know, is shown as a tensor file: why it is no model, its
      metadata and its tensors.
      """)

  @Argument(
    help: "A model, a checkpoint, an adapter or a file with tensors: a directory or a file of any kind that 'dibit convert' reads.")
  var path: String
  @Flag(help: "List every tensor.") var tensors = false
  @Flag(help: "Print the result as JSON.") var json = false

  func run() throws {
    let form = AdapterForm(path)
    let checkpoint = try Checkpoint.open(form?.weights(of: path) ?? path)
    var facts: [(key: String, value: JSONValue)] = []
    if let form {
      facts = try adapterFacts(form)
    } else if checkpoint.filePaths == [path], checkpoint.format != .gguf, checkpoint.format != .llama2c {
      // One file of several kinds of things; what they are, its directory may say.
      facts = tensorFacts(checkpoint, reason: nil)
    } else {
      do throws(ModelStoreError) { facts = try modelFacts(checkpoint) } catch {
        guard let reason = TensorFile.reason(error, of: path) else { throw error }
        facts = tensorFacts(checkpoint, reason: reason)
      }
    }
    let infos = checkpoint.tensorNames.compactMap { name in checkpoint.info(name).map { (name: name, info: $0) } }
    facts.append((key: "tensors", value: .integer(infos.count)))
    facts.append((key: "bytes", value: .integer(infos.reduce(0) { $0 + $1.info.byteCount })))
    show(facts, infos)
  }

  private func adapterFacts(_ form: AdapterForm) throws -> [(key: String, value: JSONValue)] {
    var facts: [(key: String, value: JSONValue)] = [(key: "kind", value: .string("LoRA adapter (\(form.rawValue))"))]
    facts += try form.configuration(of: path).members
    let own = try AdapterFacts.read(path)
    if let digest = own.baseDigest { facts.append((key: "base_digest", value: .string(digest))) }
    for key in ["labels", "task", "split", "recipe", "training", "source"] {
      if let value = own.manifest[key] { facts.append((key: key, value: value)) }
    }
    return facts
  }

  /// The facts about tensors by themselves, and the reason for which they are no model.
  private func tensorFacts(_ checkpoint: Checkpoint, reason: String?) -> [(key: String, value: JSONValue)] {
    var facts: [(key: String, value: JSONValue)] = [
      (key: "kind", value: "tensor file"), (key: "format", value: .string(checkpoint.format.rawValue)),
    ]
    if let reason { facts.append((key: "no_model", value: .string(reason))) }
    let stored = checkpoint.tensorNames.compactMap { checkpoint.info($0) }
    if !stored.isEmpty { facts.append((key: "stored_as", value: Self.storage(stored))) }
    let count = TensorFile.keyCount(of: checkpoint)
    guard count > 0 else { return facts }
    let metadata = TensorFile.metadata(of: checkpoint)
    // People get the beginning; --json has the rest.
    let shown = json ? metadata : JSONObject(Array(metadata.members.prefix(Self.shownKeys)))
    facts += [(key: "metadata_keys", value: .integer(count)), (key: "metadata", value: .object(shown))]
    if !json, metadata.count > shown.count { facts.append((key: "metadata", value: "and more: --json shows the rest")) }
    return facts
  }

  /// The keys of metadata that are shown to people.
  private static let shownKeys = 24

  private func modelFacts(_ checkpoint: Checkpoint) throws(ModelStoreError) -> [(key: String, value: JSONValue)] {
    let source = try ModelSource.open(path)
    let (c, scheme, weights) = (source.configuration, source.scheme, try source.weights())
    let stored = checkpoint.tensorNames.compactMap { checkpoint.info($0) }
    // Other tools' blocks are floats here only once they are read: what counts is what the file holds.
    let (bytes, elements) =
      scheme == nil
      ? (stored.reduce(0) { $0 + $1.byteCount }, stored.reduce(0) { $0 + $1.count }) : (weights.byteCount, weights.elementCount)
    let bits = Double(bytes * 8) / Double(max(elements, 1))
    let isBlocked = [.gguf, .llama2c].contains(checkpoint.format) && stored.contains { DType(rawValue: $0.storage) == nil }
    var facts: [(key: String, value: JSONValue)] = [
      (key: "kind", value: scheme != nil ? "converted model" : isBlocked ? "quantised checkpoint" : "float checkpoint"),
      (key: "format", value: .string(checkpoint.format.rawValue)),
      (key: "architecture", value: .string(c.family.rawValue)),
      (key: "parameters", value: .integer(weights.elementCount)), (key: "bits_per_weight", value: .number(bits)),
      (key: "vocabulary", value: .integer(c.vocabularySize)), (key: "hidden", value: .integer(c.hiddenSize)),
      (key: "layers", value: .integer(c.layers)), (key: "layers_reusing_keys_and_values", value: .integer(c.reusingLayers)),
      (key: "heads", value: .integer(c.heads)), (key: "key_value_heads", value: .integer(c.keyValueHeads)),
      (key: "head_size", value: .integer(c.headSize)), (key: "feed_forward", value: .integer(c.feedForwardSize)),
      (key: "context", value: .integer(c.contextLength)), (key: "tied_embeddings", value: .bool(c.tiesEmbeddings)),
    ]
    if let scheme { facts.append((key: "quantization", value: scheme.json)) }
    if scheme == nil { facts.append((key: "stored_as", value: Self.storage(stored))) }
    if let digest = (try? readJSON(StoreFile.manifest, in: path))?["digest"] { facts.append((key: "digest", value: digest)) }
    return facts
  }

  /// Counts the tensors that are stored in each way.
  private static func storage(_ infos: [TensorInfo]) -> JSONValue {
    let names = infos.reduce(into: [String: Int]()) { $0[$1.storage, default: 0] += 1 }
    return .object(JSONObject(names.sorted { $0.key < $1.key }.map { (key: $0.key, value: .integer($0.value)) }))
  }

  /// A fact, or those of an object one by one, under names such as `task.key`.
  private func lines(_ key: String, _ value: JSONValue) -> [(key: String, text: String)] {
    if let members = value.object?.members { return members.flatMap { lines("\(key).\($0.key)", $0.value) } }
    if let names = value.array?.map(\.string), names.allSatisfy({ $0 != nil }) {
      return [(key, names.compactMap(\.self).joined(separator: ", "))]
    }
    if key == "bytes", let count = value.int { return [(key, size(count))] }
    let fraction = value.double.flatMap { $0.rounded() == $0 || abs($0) < 0.01 ? nil : decimal($0, 3) }
    return [(key, value.string ?? fraction ?? value.serialized())]
  }

  private func show(_ facts: [(key: String, value: JSONValue)], _ infos: [(name: String, info: TensorInfo)]) {
    if json {
      var object = JSONObject(facts)
      if tensors {
        object["list"] = .array(
          infos.map {
            [
              "name": .string($0.name), "dtype": .string($0.info.dtype.rawValue), "storage": .string($0.info.storage),
              "shape": .array($0.info.shape.map { .integer($0) }),
            ]
          })
      }
      printJSON(.object(object))
      return
    }
    // Values of any length: aligned to the left.
    let rows = facts.flatMap { lines($0.key, $0.value) }
    for (name, line) in zip(table(rows.map { [$0.key] }), rows) { Output.print("\(name)  \(line.text)") }
    guard tensors else { return }
    Output.print()
    printTable(infos.map { [$0.name, $0.info.storage, "\($0.info.shape)"] })
  }
}
