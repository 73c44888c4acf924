internal import DibitCheckpoint
internal import DibitJSON

/// What lies where a model or an adapter was expected, so that an error can call it what it is.
enum StoreKind: Equatable {
  /// Nothing, a file or a directory of no kind below; in words.
  case other(String)
  /// A model or a checkpoint.
  case model
  /// An adapter that `dibit train` or `dibit convert --base` wrote.
  case adapter
  /// An adapter in the form of PEFT, mlx-lm or llama.cpp.
  case foreignAdapter
  /// What a stopped training goes on with.
  case checkpoints

  /// Looks at the names in the directory and at its manifest, or at the first bytes of the file.
  init(_ path: String) {
    guard isDirectory(path) else {
      self = Self.file(path)
      return
    }
    let names = Set((try? directoryNames(path)) ?? [])
    let format = names.contains(StoreFile.manifest) ? (try? readJSON(StoreFile.manifest, in: path))?["format"]?.string : nil
    if format == StoredAdapter.format {
      self = .adapter
    } else if names.contains(StoreFile.adapterConfiguration) || names.contains(MLXAdapter.weights) {
      self = .foreignAdapter
    } else if names.contains(StoreFile.configuration) {
      self = .model
    } else if path.hasSuffix(".checkpoints") {
      self = .checkpoints
    } else {
      let some = names.sorted().prefix(3).map(quoted).joined(separator: ", ") + (names.count > 3 ? " and more" : "")
      self = .other(names.isEmpty ? "an empty folder" : "a folder with \(some)")
    }
  }

  private static func file(_ path: String) -> StoreKind {
    if GGUFAdapter.recognises(path) { return .foreignAdapter }
    guard let file = try? MappedFile(path: path) else { return .other("nothing that can be read") }
    switch FileKind.recognise(file.bytes) {
    case .safetensors, .gguf, .hdf5, .pytorch, .llama2c: return .model
    case let kind?: return .other(kind.description)
    case nil: return .other("a file of no known kind")
    }
  }

  /// Throws where the directory of an adapter, or of what a training goes on with, is given as a model.
  static func checkModel(_ path: String) throws(ModelStoreError) {
    guard isDirectory(path) else { return }
    switch StoreKind(path) {
    case .adapter: throw .isAdapter(path: path, isForeign: false)
    case .foreignAdapter where !holdsModel(path): throw .isAdapter(path: path, isForeign: true)
    case .checkpoints: throw .isNoModel(path: path)
    default: return
    }
  }

  /// A model's directory may have an adapter's files in it, as hubs keep them.
  private static func holdsModel(_ path: String) -> Bool {
    isRegularFile(path + "/" + StoreFile.configuration)
  }

  /// Throws where a model, or what a training goes on with, is given as an adapter of any tool. What lacks a file of an adapter is told by
  /// whoever reads that.
  static func checkImport(_ path: String) throws(ModelStoreError) {
    switch StoreKind(path) {
    case .model: throw .isNoAdapter(path: path, found: "a model")
    case .checkpoints: throw .isNoAdapter(path: path, found: "the checkpoints of a training that was stopped")
    default: return
    }
  }

  /// Throws where there is no adapter of Dibit.
  static func checkAdapter(_ path: String) throws(ModelStoreError) {
    guard isDirectory(path) || isRegularFile(path) else { throw .checkpoint(.notFound(path: path)) }
    let kind = StoreKind(path)
    // A manifest that is broken, or another's beside the files of an adapter.
    if kind == .foreignAdapter, isRegularFile(path + "/" + StoreFile.manifest) {
      let format = try readJSON(StoreFile.manifest, in: path)["format"]
      throw .malformed(
        path: path + "/" + StoreFile.manifest, key: "format", expected: "'\(StoredAdapter.format)'",
        found: format?.serialized() ?? "nothing")
    }
    switch kind {
    case .adapter: return
    case .foreignAdapter: throw .isForeignAdapter(path: path)
    case .model: throw .isNoAdapter(path: path, found: "a model")
    case .checkpoints: throw .isNoAdapter(path: path, found: "the checkpoints of a training that was stopped")
    case .other(let found): throw .isNoAdapter(path: path, found: found)
    }
  }
}
