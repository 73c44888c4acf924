internal import DibitFailure
internal import DibitCheckpoint
internal import DibitFiles
internal import DibitJSON
internal import DibitKernels
internal import DibitModel
internal import DibitModelStore
internal import DibitQuantization
internal import DibitTensor

/// Writes a model as a GGUF file that llama.cpp loads, with every weight just as it is.
struct GGUFExporter {
  private let source: StoredModel
  private let compute: Compute

  init(_ source: StoredModel, on compute: Compute) {
    self.source = source
    self.compute = compute
  }

  /// Floats that are expanded in one piece.
  private static let pieceElements = 4 << 20

  /// Writes the file at `path`; false when `progress` stopped it.
  func write(to path: String, progress: (ExportProgress) -> Bool) throws(ConversionError) -> Bool {
    let parameters = Array(source.weights.published)
    let export: GGUFExport
    var metadata: [GGUFExport.Pair]
    do throws(GGUFModelError) {
      var json = source.json.object ?? JSONObject()
      json[QuantizationScheme.key] = nil
      export = try GGUFModel.export(
        configuration: .object(json), tensors: parameters.map { (name: $0.name.tensor, shape: Self.shape($0)) }, inRows: true)
      let chat: JSONValue?
      do throws(ModelStoreError) { chat = try ChatSource.settings(of: source.path) } catch { throw .notExportable(error.description) }
      metadata = export.metadata
      metadata += try GGUFModel.tokenizerKeys(source.tokenizer, chat: chat, vocabularySize: source.configuration.vocabularySize)
    } catch { throw .source(.gguf(error, path: source.path)) }
    // What a recovery is added to lies on no grid any more.
    let stored = parameters.map { source.weights.recovery(of: $0.index) == nil ? GGUFRows($0.weight) : .floats }
    var declarations = zip(export.views, zip(parameters, stored)).map {
      (name: $0.name, type: $1.0.isMatrix ? $1.1.type : .f32, shape: Self.shape($1.0))
    }
    declarations += export.tables.map { (name: $0.name, type: .f32, shape: [$0.values.count]) }
    do throws(CheckpointError) {
      var writer = try GGUFWriter(path: path, metadata: metadata.map { (key: $0.key, value: $0.value) }, tensors: declarations)
      let total = writer.byteCount
      var written = 0
      for (index, parameter) in parameters.enumerated() {
        let view = export.views[index]
        guard parameter.isMatrix else {
          try writer.append(floats: vector(parameter, view, raised: export.normsToRaise.contains(view.name)).span)
          continue
        }
        let order = view.rowOrder()
        let step = max(1, min(parameter.weight.rows, Self.pieceElements / max(parameter.weight.columns, 1)))
        for first in stride(from: 0, to: parameter.weight.rows, by: step) {
          let rows = first..<min(first + step, parameter.weight.rows)
          written += try write(rows, order, parameter, stored[index], to: &writer)
          guard progress(ExportProgress(bytes: written, totalBytes: total)) else { return false }
        }
      }
      for table in export.tables { try writer.append(floats: table.values.span) }
      // Header, vectors and tables were written too.
      guard progress(ExportProgress(bytes: total, totalBytes: total)) else { return false }
      _ = try writer.finalize()
      return true
    } catch { throw .checkpoint(error) }
  }

  /// Checks that the written file is read back as the model that it was made from: what the format has no key for would change the numbers.
  func check(_ path: String) throws(ConversionError) {
    let bytes = try rethrow(as: ConversionError.file, MappedFile(path: path)).bytes
    let file = try rethrow(as: ConversionError.checkpoint, GGUFFile(bytes, file: path))
    let json: JSONValue
    do throws(GGUFModelError) { json = try GGUFModel.translate(file).configuration } catch {
      throw .source(.gguf(error, path: source.path))
    }
    let back: ModelConfiguration
    do throws(ModelError) { back = try ModelConfiguration(json: json) } catch { throw .source(.model(error, path: source.path)) }
    var configuration = source.configuration
    configuration.recoveryRank = 0  // it is in the weights
    if let changed = back.difference(from: configuration) {
      throw .source(.gguf(.notExportable("the format has no key for this: \(changed)"), path: source.path))
    }
  }

  /// Appends rows in llama.cpp's order; returns their bytes.
  private func write(_ rows: Range<Int>, _ order: [Int]?, _ parameter: Parameter, _ stored: GGUFRows, to writer: inout GGUFWriter)
    throws(CheckpointError) -> Int
  {
    let weight = parameter.weight
    let isPacked = weight.isPacked && stored.type != .f32
    let ids = rows.map { Int32(order?[$0] ?? $0) }
    var values = Matrix(rows: ids.count, columns: weight.columns)
    Embedding.forward(ids.span, weight: weight, into: &values, on: compute)
    source.weights.addRecovery(of: parameter.index, rows: ids, to: &values, on: compute)
    guard isPacked else {
      try writer.append(floats: values.span)
      return values.count * 4
    }
    var count = 0
    for (row, id) in ids.enumerated() {
      var one = Matrix(rows: 1, columns: weight.columns)
      one.copyRow(row, of: values, to: 0)
      let bytes = stored.encode(one, weight, rows: Int(id)..<Int(id) + 1)
      try writer.append(bytes.span)
      count += bytes.count
    }
    return count
  }

  /// A norm or a bias, in llama.cpp's order.
  private func vector(_ parameter: Parameter, _ view: TensorView, raised: Bool) -> [Float] {
    let values = Array(copying: parameter.weight.values)
    let ordered = view.rowOrder(isVector: true).map { order in order.map { values[$0] } } ?? values
    return raised ? ordered.map { $0 + 1 } : ordered
  }

  private static func shape(_ parameter: Parameter) -> [Int] {
    parameter.isMatrix ? [parameter.weight.rows, parameter.weight.columns] : [parameter.weight.columns]
  }
}
