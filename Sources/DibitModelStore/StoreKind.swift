internal import DibitCheckpoint
internal import DibitFailure
internal import DibitFiles
internal import DibitJSON

/// The kind of thing that lies where a model or an adapter was expected, so that an error can call it what it is.
enum StoreKind: Equatable {
  /// Nothing, a file or a directory of no kind below; in words.
  case other(String)
  /// A model or a checkpoint.
  case model
  /// An adapter that `dibit train` or `dibit convert --base` wrote.
  case adapter
  /// An adapter in the form of PEFT, mlx-lm or llama.cpp.
  case foreignAdapter
  /// The checkpoints from which a stopped training goes on.
  case checkpoints

  /// Looks at the names in the directory and at its manifest, or at the first bytes of the file.
  ///
  /// - Throws: ``ModelStoreError/checkpoint(_:)`` where nothing is there, or where it may not be looked at.
  init(_ path: String) throws(ModelStoreError) {
    guard isDirectory(path) else {
      self = try Self.file(path)
      return
    }
    let names: Set<String>
    names = Set(try rethrow(as: ModelStoreError.file, directoryNames(path)))
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

  private static func file(_ path: String) throws(ModelStoreError) -> StoreKind {
    if GGUFAdapter.recognises(path) { return .foreignAdapter }
    let file = try rethrow(as: ModelStoreError.file, MappedFile(path: path))
    switch FileKind.recognise(file.bytes) {
    case .safetensors, .gguf, .hdf5, .pytorch, .llama2c: return .model
    case let kind?: return .other(kind.description)
    case nil: return .other("a file of no known kind")
    }
  }

  /// Throws where the directory of an adapter, or of what a training goes on with, is given as a model.
  static func checkModel(_ path: String) throws(ModelStoreError) {
    guard isDirectory(path) else { return }
    switch try StoreKind(path) {
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

  /// The directory of the model or adapter whose weights lie in the file `path`, as the files beside it say; nil for any other path.
  static func owner(of path: String) -> String? {
    guard isRegularFile(path), let (parent, name) = splitOutput(path) else { return nil }
    func holds(_ file: String) -> Bool { isRegularFile(parent + "/" + file) }
    switch name {
    case StoreFile.weights:
      let format = holds(StoreFile.manifest) ? (try? readJSON(StoreFile.manifest, in: parent))?["format"]?.string : nil
      return format == ModelFiles.format || format == FloatCheckpoint.format ? parent : nil
    case StoreFile.adapterWeights, StoreFile.adapterPickle, MLXAdapter.weights:
      return holds(StoreFile.adapterConfiguration) ? parent : nil
    default: return nil
    }
  }

  /// Throws for the weights of an adapter, which say too little without the files beside them.
  private static func checkWhole(_ path: String) throws(ModelStoreError) {
    if fileName(of: path) != StoreFile.weights, let owner = owner(of: path) { throw .isPart(path: path, owner: owner) }
  }

  /// Throws where a model, or what a training goes on with, is given as an adapter of any tool. What lacks a file of an adapter is told by
  /// whoever reads that.
  static func checkImport(_ path: String) throws(ModelStoreError) {
    try checkWhole(path)
    switch try StoreKind(path) {
    case .model: throw .isNoAdapter(path: path, found: "a model")
    case .checkpoints: throw .isNoAdapter(path: path, found: "the checkpoints of a training that was stopped")
    case .other(let found) where !isDirectory(path): throw .isNoAdapter(path: path, found: found)
    default: return
    }
  }

  /// Throws where there is no adapter of Dibit.
  static func checkAdapter(_ path: String) throws(ModelStoreError) {
    guard isDirectory(path) || isRegularFile(path) else { throw .file(.notFound(path: path)) }
    try checkWhole(path)
    let kind = try StoreKind(path)
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
