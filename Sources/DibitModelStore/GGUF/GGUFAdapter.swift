internal import DibitFailure
internal import BasicContainers
internal import DibitCheckpoint
internal import DibitFiles
internal import DibitJSON
internal import DibitKernels
package import DibitModel
internal import DibitTensor

/// Adapters as llama.cpp keeps them: one GGUF file with `<tensor>.lora_a [R, in]`, `<tensor>.lora_b [out, R]` and `adapter.lora.alpha`, which
/// is PEFT's. Rows of B lie as the rows of the model's tensor do: interleaved for the queries and keys of llama.
package enum GGUFAdapter {
  /// Checks that a file is one: a GGUF file that says so.
  static func recognises(_ path: String) -> Bool {
    guard isRegularFile(path), let file = try? MappedFile(path: path), FileKind.recognise(file.bytes) == .gguf,
      let gguf = try? GGUFFile(file.bytes, file: path)
    else { return false }
    return recognises(gguf)
  }

  /// Checks that the file says that it is one.
  static func recognises(_ file: GGUFFile) -> Bool { file["general.type"]?.text == "adapter" }

  private static let manifestKey = "dibit.manifest"
  private static let trainingTextsKey = "dibit.training_texts"

  /// Returns the facts in Dibit's own keys; nothing for a file of another tool.
  static func facts(_ path: String) throws(ModelStoreError) -> AdapterFacts {
    let gguf = try ggufFile(path)
    guard let value = gguf[manifestKey] else { return AdapterFacts() }
    guard let text = value.text, let json = try? JSONValue(parsing: Array(text.utf8)), json.object != nil else {
      throw .malformed(
        path: path, key: manifestKey, expected: "the text of a JSON object", found: value.text == nil ? value.kind : "another text")
    }
    var facts = AdapterFacts(json)
    if let texts = gguf[trainingTextsKey] {
      guard let text = texts.text else {
        throw .malformed(path: path, key: trainingTextsKey, expected: "a text", found: texts.kind)
      }
      facts.trainingTexts = Array(text.utf8)
    }
    return facts
  }

  /// The keys that ``facts(_:)`` reads.
  private static func metadata(_ facts: AdapterFacts, for model: StoredModel) -> [(key: String, value: GGUFValue)] {
    let members = facts.members(base: model.digest ?? "")
    var pairs: [(key: String, value: GGUFValue)] = [
      (key: "general.base_model.count", value: .uint32(1)),
      (key: "general.base_model.0.name", value: .text(facts.baseName ?? model.name)),
      (key: manifestKey, value: .text(JSONValue.object(members).serialized())),
    ]
    if let texts = facts.trainingTexts { pairs.append((key: trainingTextsKey, value: .text(String(decoding: texts, as: UTF8.self)))) }
    return pairs
  }

  /// Returns the content of llama.cpp's keys, under PEFT's names.
  static func configuration(_ path: String) throws(ModelStoreError) -> JSONObject {
    let gguf = try ggufFile(path)
    let adapted = gguf.tensors.filter { $0.name.hasSuffix(".lora_a") }
    let names = Set(adapted.map { $0.name.split(separator: ".").dropLast(2).last.map(String.init) ?? $0.name })
    return JSONObject([
      (key: "r", value: .integer(adapted.map { $0.shape.first ?? 0 }.max() ?? 0)),
      (key: "lora_alpha", value: gguf["adapter.lora.alpha"]?.double.flatMap { $0.isFinite ? .number($0) : nil } ?? .null),
      (key: "target_modules", value: .array(names.sorted().map { .string($0) })),
      (key: "base_model_name_or_path", value: gguf["general.base_model.0.name"]?.text.map { .string($0) } ?? .null),
      (key: "architecture", value: gguf["general.architecture"]?.text.map { .string($0) } ?? .null),
    ])
  }

  /// Reads a file, for a model that says how many heads it has.
  static func open(_ path: String, for model: StoredModel) throws(ModelStoreError) -> AdapterSource {
    let (stored, gguf): (Checkpoint, GGUFFile)
    gguf = try ggufFile(path)
    stored = try rethrow(as: ModelStoreError.checkpoint, Checkpoint.open(path))
    do throws(GGUFModelError) {
      guard gguf["adapter.type"]?.text == "lora" else {
        throw .value(key: "adapter.type", expected: "'lora'", found: gguf["adapter.type"]?.text ?? "nothing")
      }
      guard let alpha = gguf["adapter.lora.alpha"]?.double, alpha > 0, alpha < 1e6 else {
        throw .value(
          key: "adapter.lora.alpha", expected: "a positive number", found: gguf["adapter.lora.alpha"].map { "\($0)" } ?? "nothing")
      }
      let architecture = try architecture(of: model)
      guard gguf["general.architecture"]?.text == architecture.name else {
        throw .value(
          key: "general.architecture", expected: "'\(architecture.name)'", found: gguf["general.architecture"]?.text ?? "nothing")
      }
      let names = architecture.tensors(layers: model.configuration.layers) { $0.gguf }
      var (views, configuration) = ([TensorView](), AdapterConfiguration())
      (configuration.rank, configuration.alpha) = (1, Float(alpha))
      for tensor in gguf.tensors {
        let isA = tensor.name.hasSuffix(".lora_a")
        guard isA || tensor.name.hasSuffix(".lora_b"), let entry = names[Array(tensor.name.dropLast(7).utf8)] else {
          throw .unknownTensor(tensor.name, architecture: architecture.name)
        }
        let module = adapterNames(entry.hugging)
        if isA {
          configuration.rank = max(tensor.shape.first ?? 1, 1)
          views.append(TensorView(module.a, from: tensor.name))
          continue
        }
        let layout = entry.layout == .transposed ? .same : entry.layout
        guard let view = layout.view(module.b, from: tensor.name, shape: tensor.shape, heads: heads(of: model), toHugging: true) else {
          throw .shape(tensor: tensor.name, expected: "rows of whole heads", found: tensor.shape)
        }
        views.append(view)
      }
      do throws(CheckpointError) {
        return AdapterSource(try stored.viewed(views), configuration, path: path)
      } catch { throw .notExportable(error.description) }
    } catch { throw .gguf(error, path: path) }
  }

  /// Writes an adapter of `model` as the file at `path`, which must not exist.
  package static func write(_ adapter: borrowing Adapter, facts: AdapterFacts, for model: StoredModel, to path: String)
    throws(ModelStoreError)
  {
    let architecture = try rethrow(as: ModelStoreError.gguf, at: model.path, self.architecture(of: model))
    let names = architecture.tensors(layers: model.configuration.layers) { $0.hugging }
    var declarations: [(name: String, type: GGMLType, shape: [Int])] = []
    var orders: [[Int]?] = []
    for entry in 0..<adapter.count {
      let tensor = adapter.modules[entry] + ".weight"
      let shape = [adapter.b[entry].rows, adapter.b[entry].columns]
      guard let known = names[Array(tensor.utf8)] else {
        throw .gguf(.unknownTensor(tensor, architecture: architecture.name), path: model.path)
      }
      // The rows of B here are the decoder's, in which fused heads lie apart as in llama.cpp.
      let layout = known.layout == .transposed || known.layout == .separateHeads ? .same : known.layout
      guard let view = layout.view(known.gguf, from: tensor, shape: shape, heads: heads(of: model), toHugging: false) else {
        throw .gguf(.shape(tensor: tensor, expected: "rows of whole heads", found: shape), path: model.path)
      }
      declarations.append((name: known.gguf + ".lora_a", type: .f32, shape: [adapter.a[entry].rows, adapter.a[entry].columns]))
      declarations.append((name: known.gguf + ".lora_b", type: .f32, shape: shape))
      orders.append(view.rowOrder())
    }
    let c = adapter.configuration
    var metadata: [(key: String, value: GGUFValue)] = [
      (key: "general.architecture", value: .text(architecture.name)), GGUFModel.writer,
      (key: "general.type", value: .text("adapter")),
      (key: "adapter.type", value: .text("lora")), (key: "adapter.lora.alpha", value: .float32(c.scale * Float(c.rank))),
    ]
    metadata += self.metadata(facts, for: model)
    do throws(CheckpointError) {
      var writer = try GGUFWriter(path: path, metadata: metadata, tensors: declarations)
      for entry in 0..<adapter.count {
        try writer.append(floats: adapter.a[entry].span)
        var ordered = Matrix(rows: adapter.b[entry].rows, columns: adapter.b[entry].columns)
        for row in 0..<ordered.rows { ordered.copyRow(orders[entry]?[row] ?? row, of: adapter.b[entry], to: row) }
        try writer.append(floats: ordered.span)
      }
      _ = try writer.finalize()
    } catch { throw .checkpoint(error) }
  }

  /// PEFT's names for the adapter of a tensor `<module>.weight`.
  private static func adapterNames(_ tensor: String) -> (a: String, b: String) {
    AdapterSource.names(tensor.hasSuffix(".weight") ? String(tensor.dropLast(".weight".count)) : tensor)
  }

  private static func architecture(of model: StoredModel) throws(GGUFModelError) -> GGUFArchitecture {
    let family = model.configuration.family.rawValue
    guard let architecture = GGUFArchitecture.all.first(where: { $0.family == family }) else {
      throw .notExportable("llama.cpp has no architecture for model_type '\(family)': write it for mlx-lm or PEFT")
    }
    return architecture
  }

  private static func heads(of model: StoredModel) -> GGUFArchitecture.Layout.Heads {
    let c = model.configuration
    return GGUFArchitecture.Layout.Heads(queries: c.heads, keys: c.keyValueHeads, size: c.headSize)
  }
}
