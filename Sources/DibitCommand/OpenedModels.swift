internal import DibitModelStore
internal import Synchronization

/// The models that this process works with: nothing that comes from them is given away before their weights were found to be whole.
enum OpenedModels {
  private static let checks = Mutex<[WeightsCheck]>([])

  /// Opens a converted model or a float checkpoint.
  static func open(_ path: String) throws(ModelStoreError) -> StoredModel { kept(try StoredModel.open(path)) }

  /// Opens a converted model.
  static func openConverted(_ path: String) throws(ModelStoreError) -> StoredModel { kept(try StoredModel.openConverted(path)) }

  /// Waits for the checks of all models that were opened.
  static func waitForChecks() throws(ModelStoreError) {
    let begun = checks.withLock { checks in
      defer { checks.removeAll() }
      return checks
    }
    for check in begun { try check.wait() }
  }

  private static func kept(_ model: StoredModel) -> StoredModel {
    if let check = model.check { checks.withLock { $0.append(check) } }
    return model
  }
}
