internal import Foundation

/// The directories in which models and adapters of this machine lie.
///
/// The first of these that exists is taken: the path in an environment variable, the name below `dibit` in the user's data directory
/// (`XDG_DATA_HOME`, otherwise `~/.local/share`), and the same in the system's (`XDG_DATA_DIRS`, otherwise `/usr/local/share` and
/// `/usr/share`), in which `make install` puts the model that ships.
struct ModelLocation: Sendable {
  private let environment: [String: String]

  init(_ environment: [String: String] = ProcessInfo.processInfo.environment) { self.environment = environment }

  /// The path of the model that is used unless another is named; nil where there is none.
  var model: String? { path(variable: "DIBIT_MODEL", name: "model") }

  /// The path of the adapter for tagging; nil where there is none.
  var taggingAdapter: String? { path(variable: "DIBIT_TAGGING_ADAPTER", name: "adapters/content-tagging") }

  /// The path of the list of words that guardrails refuse; nil where none is installed.
  var denyList: String? { path(variable: "DIBIT_DENY_LIST", name: "deny-list.txt") }

  /// The directories in which adapters are looked for by name.
  var adapters: [String] { (environment["DIBIT_ADAPTERS"].map { [$0] } ?? []) + data.map { $0 + "/adapters" } }

  /// The directories `dibit` below those of data, the user's first.
  private var data: [String] {
    let home = environment["HOME"] ?? "/"
    let own = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + "/.local/share"
    let shared = environment["XDG_DATA_DIRS"].flatMap { $0.isEmpty ? nil : $0 } ?? "/usr/local/share:/usr/share"
    return ([own] + shared.split(separator: ":").map(String.init)).map { $0 + "/dibit" }
  }

  private func path(variable: String, name: String) -> String? {
    // What is named counts, also where nothing lies there: another model in its stead would surprise.
    if let named = environment[variable], !named.isEmpty { return named }
    return data.map { $0 + "/" + name }.first { FileManager.default.fileExists(atPath: $0) }
  }
}
