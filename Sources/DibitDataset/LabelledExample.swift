/// One text and the labels it carries.
package struct LabelledExample: Sendable, Equatable {
  /// The file that the text is or lies in, relative to the dataset's folder, with '/' between names. Of a text that lies in several files,
  /// the first in the order of UTF-8 bytes.
  package let path: String
  /// The line on which the text's row begins, from 1; 0 when the text is the whole file. Of several rows of a file, the first.
  package let line: Int
  /// The text as it was decoded: LF line ends, otherwise untouched. Leading and trailing white space is kept.
  package let text: String
  /// The labels, without repetition, in the order of their UTF-8 bytes; none for a text to which no label applies.
  package let labels: [String]
  /// SHA-256 of the text's UTF-8 bytes.
  package let digest: TextDigest

  /// An example; sorts the labels, drops repeated ones and computes the digest.
  package init(path: String, line: Int = 0, text: String, labels: [String]) {
    self.init(
      path: path, line: line, text: text, labels: labels.count > 1 ? labels.distinctByBytes() : labels, digest: TextDigest(text: text))
  }

  /// For labels that are sorted and a digest that is known.
  init(path: String, line: Int, text: String, labels: [String], digest: TextDigest) {
    self.path = path
    self.line = line
    self.text = text
    self.labels = labels
    self.digest = digest
  }

  /// Checks that location, labels and text are the same bytes.
  package static func == (left: LabelledExample, right: LabelledExample) -> Bool {
    left.digest == right.digest && left.line == right.line && left.path.hasSameBytes(as: right.path)
      && left.labels.hasSameBytes(as: right.labels)
  }
}
