internal import DibitModel
internal import DibitModelStore

/// Facts of a model that its files tell before it is opened to run.
package struct ModelSummary: Equatable, Sendable {
  /// The most tokens of a text with all that follows it.
  package let contextLength: Int
  /// The languages that its makers name, as BCP 47 tags; none where they name none.
  package let languages: [String]
  /// The digest of converted weights, which adapters name.
  package let digest: String?

  /// Reads the files of a model, and checks that they are whole as far as that is seen without reading all weights.
  ///
  /// - Throws: ``DibitError`` where there is no such model, or it is damaged or of a kind that Dibit does not know.
  package init(at path: String) throws(DibitError) {
    do {
      let model = try StoredModel.open(path, checksWeights: false)
      contextLength = model.configuration.contextLength
      languages = ModelLanguages.read(model.path)
      digest = model.digest
    } catch { throw DibitError(error) }
  }
}
