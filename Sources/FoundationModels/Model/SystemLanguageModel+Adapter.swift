internal import Dibit
internal import DibitJSON
public import Foundation

extension SystemLanguageModel {
  /// A low-rank adapter: it makes a model good at one task. The one that a training wrote, or a package of it (`.fmadapter`).
  ///
  /// An adapter belongs to one model, which it names by the digest of its weights; that is checked when a session first uses it.
  public struct Adapter: Sendable {
    /// The directory of the adapter.
    let path: String
    private let manifest: JSONValue

    /// The members that whoever made the adapter put into it: of a package those under `creatorDefined` in `metadata.json`, otherwise the
    /// members of `manifest.json`.
    public var creatorDefinedMetadata: [String: Any] {
      (manifest["creatorDefined"] ?? manifest).object.map { Dictionary(uniqueKeysWithValues: $0.members.map { ($0.key, $0.value.plain) }) }
        ?? [:]
    }

    /// Opens an adapter in a directory.
    ///
    /// - Parameter fileURL: The directory.
    /// - Throws: ``AssetError/invalidAsset(_:)`` where there is no adapter, or a damaged one.
    public init(fileURL: URL) throws {
      let path = fileURL.path(percentEncoded: false)
      let directory = path.hasSuffix("/") && path.count > 1 ? String(path.dropLast()) : path
      func invalid(_ what: String) -> AssetError { .invalidAsset(.init(debugDescription: "'\(directory)': \(what)")) }
      guard FileManager.default.fileExists(atPath: directory + "/adapter_config.json") else {
        throw invalid("the directory of an adapter expected, with adapter_config.json in it, none found")
      }
      let name = FileManager.default.fileExists(atPath: directory + "/" + Self.metadata) ? Self.metadata : "manifest.json"
      self.path = directory
      guard let bytes = FileManager.default.contents(atPath: directory + "/" + name) else {
        manifest = .object(JSONObject())
        return
      }
      do { manifest = try JSONValue(parsing: Array(bytes), depthLimit: 64) } catch { throw invalid("\(name): \(error)") }
      guard manifest.object != nil else { throw invalid("\(name): an object expected, found \(manifest.kind)") }
    }

    /// Opens the adapter of a name: the first of those in `DIBIT_ADAPTERS` and in `dibit/adapters` below the directories of data that belongs
    /// to the model of this machine.
    ///
    /// - Parameter name: Letters, digits, `_` and `-`.
    /// - Throws: ``AssetError/invalidAdapterName(_:)`` for another name; ``AssetError/compatibleAdapterNotFound(_:)`` where there is none.
    public init(name: String) throws {
      guard !name.isEmpty, name.utf8.allSatisfy({ $0 == 0x5F || $0 == 0x2D || Self.isAlphanumeric($0) }) else {
        throw AssetError.invalidAdapterName(.init(debugDescription: "letters, digits, '_' and '-' expected, found '\(name)'"))
      }
      guard let path = Self.candidates(name: name).first(where: { Self.isCompatible($0) }) else {
        let places = ModelLocation().adapters.joined(separator: ", ")
        throw AssetError.compatibleAdapterNotFound(
          .init(debugDescription: "no adapter '\(name)' of the model of this machine lies in \(places)"))
      }
      try self.init(fileURL: URL(filePath: path))
    }

    /// Does nothing: adapters run as they are.
    @concurrent
    public func compile() async throws {}

    /// Lists the adapters of a name that belong to the model of this machine.
    ///
    /// - Parameter name: The name.
    /// - Returns: Their identifiers: the names of their directories.
    public static func compatibleAdapterIdentifiers(name: String) -> [String] {
      candidates(name: name).filter { isCompatible($0) }.compactMap { $0.split(separator: "/").last.map(String.init) }
    }

    /// Removes adapters that belong to another model than that of this machine from the user's directory of adapters.
    ///
    /// - Throws: The system's error for a directory that cannot be removed.
    public static func removeObsoleteAdapters() throws {
      guard let own = ModelLocation().adapters.first, ModelLocation().model != nil else { return }
      for name in (try? FileManager.default.contentsOfDirectory(atPath: own)) ?? [] {
        let path = own + "/" + name
        guard FileManager.default.fileExists(atPath: path + "/adapter_config.json"), base(of: path) != nil, !isCompatible(path) else {
          continue
        }
        try FileManager.default.removeItem(atPath: path)
      }
    }

    private static let metadata = "metadata.json"

    private static func isAlphanumeric(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) }

    /// The directories of a name, with and without the ending of a package.
    private static func candidates(name: String) -> [String] {
      ModelLocation().adapters.flatMap { directory in [name, name + ".fmadapter"].map { directory + "/" + $0 } }
        .filter { FileManager.default.fileExists(atPath: $0 + "/adapter_config.json") }
    }

    /// The digest of the weights that an adapter names as its base; nil where it names none.
    private static func base(of path: String) -> String? {
      guard let bytes = FileManager.default.contents(atPath: path + "/manifest.json") else { return nil }
      return (try? JSONValue(parsing: Array(bytes), depthLimit: 64))?["base_digest"]?.string
    }

    /// True where an adapter names the model of this machine, or none.
    private static func isCompatible(_ path: String) -> Bool {
      guard let base = base(of: path) else { return true }
      guard let model = ModelLocation().model, let summary = try? OpenedModel.at(model).summary() else { return false }
      return summary.digest == base
    }

    /// The reasons for which an adapter cannot be used.
    public enum AssetError: Swift.Error, LocalizedError {
      /// The details of a failure, for developers.
      public struct Context: Sendable {
        /// One sentence that says what happened.
        public let debugDescription: String

        /// Details in these words.
        ///
        /// - Parameter debugDescription: The sentence.
        public init(debugDescription: String) { self.debugDescription = debugDescription }
      }

      /// There is no adapter, or it is damaged.
      case invalidAsset(Context)
      /// A name that no adapter can have.
      case invalidAdapterName(Context)
      /// No adapter of the name belongs to the model of this machine.
      case compatibleAdapterNotFound(Context)

      /// A sentence for people that says what happened.
      public var errorDescription: String? {
        switch self {
        case .invalidAsset(let context): "The adapter cannot be used: \(context.debugDescription)"
        case .invalidAdapterName(let context): "No adapter has such a name: \(context.debugDescription)"
        case .compatibleAdapterNotFound(let context): "There is no such adapter: \(context.debugDescription)"
        }
      }

      /// A step that may help.
      public var recoverySuggestion: String? {
        switch self {
        case .invalidAsset: "Train the adapter again, or copy all of its files."
        case .invalidAdapterName: "Use the name of the adapter's directory."
        case .compatibleAdapterNotFound: "Train an adapter for the model of this machine, or name the model in DIBIT_MODEL."
        }
      }
    }
  }
}

extension JSONValue {
  /// The value as Foundation has it.
  fileprivate var plain: Any {
    switch self {
    case .null: NSNull()
    case .bool(let value): value
    case .integer(let value): value
    case .number(let value): value
    case .string(let value): value
    case .array(let values): values.map(\.plain)
    case .object(let object): Dictionary(uniqueKeysWithValues: object.members.map { ($0.key, $0.value.plain) })
    }
  }
}
