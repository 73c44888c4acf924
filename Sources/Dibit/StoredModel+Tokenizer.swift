internal import DibitModel
package import DibitModelStore
internal import DibitTokenizer

extension StoredModel {
  /// Refuses a model that stands beside `model` if a token does not mean the same to both; `purpose` says as what it does.
  package func checkTokenizer(against model: StoredModel, as purpose: String) throws(DibitError) {
    let sizes = [self, model].map(\.configuration.vocabularySize)
    guard sizes[0] == sizes[1] else {
      throw DibitError(
        .invalidData,
        "'\(path)' has a vocabulary of \(sizes[0]) tokens, '\(model.path)' one of \(sizes[1]): \(purpose) needs the same tokenizer")
    }
    for id in 0..<Int32(sizes[0]) where tokenizer.bytes(of: id) != model.tokenizer.bytes(of: id) {
      throw DibitError(.invalidData, "token \(id) of '\(path)' is not that of '\(model.path)': \(purpose) needs the same tokenizer")
    }
  }
}
