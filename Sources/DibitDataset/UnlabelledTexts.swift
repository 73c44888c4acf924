internal import DibitFailure
internal import DibitFiles

/// Texts that nobody has labelled: those that a teacher answers.
package struct UnlabelledTexts: Sendable {
  /// The file or folder, as the caller named it.
  package let path: String
  /// The texts, each once, in the order of their locations; none of them has a label.
  package let examples: [LabelledExample]
  /// Texts that were read, those that were left out included.
  package let found: Int
  /// Those among them that are in the dataset already, were there twice, or have nothing but white space.
  package let repeated: Int
  /// Texts that cannot be read, and the fault of the first.
  package let unreadable: (count: Int, first: DatasetError?)

  /// Reads the texts of a file or a folder, as prediction does. Of more than `limit` that are new, the seed draws as many; memory holds no
  /// more than twice as many at a time.
  ///
  /// - Parameter dataset: what is labelled already: texts of any of its splits are left out.
  /// - Throws: ``DatasetError`` where no text can be read.
  package init(at path: String, limit: Int, seed: UInt64, beside dataset: Dataset, textColumn: String? = nil) throws(DatasetError) {
    var options = TextInputOptions()
    options.textColumn = textColumn
    let rank = TextRank(seed: seed, purpose: "dataset.unlabelled")
    var seen = Set(SplitName.allCases.flatMap { dataset.labelled($0).map(\.digest) })
    var (drawn, found, repeated): ([(rank: UInt64, example: LabelledExample)], Int, Int) = ([], 0, 0)
    var unreadable: (count: Int, first: DatasetError?) = (0, nil)
    func draw() {
      guard drawn.count > limit else { return }
      drawn.sort { $0.rank < $1.rank }
      drawn.removeLast(drawn.count - limit)
    }
    for input in TextInputs([path], options: options) {
      switch input.content {
      case .failure(let error): unreadable = (unreadable.count + 1, unreadable.first ?? error)
      case .success(let text):
        found += 1
        let example = LabelledExample(path: input.location.file, line: input.location.line, text: text, labels: [])
        guard text.contains(where: { !$0.isWhitespace }), seen.insert(example.digest).inserted else {
          repeated += 1
          continue
        }
        drawn.append((rank(Array(text.utf8)), example))
        if drawn.count >= 2 * limit { draw() }
      }
    }
    if found == 0, let fault = unreadable.first { throw fault }
    draw()
    self.path = path
    (self.found, self.repeated, self.unreadable) = (found, repeated, unreadable)
    examples = drawn.map { DatasetExample.labelled($0.example) }.sortedByLocation().compactMap {
      if case .labelled(let example) = $0 { example } else { nil }
    }
  }
}
