internal import DibitDigest

/// One text and the labels it carries.
public struct LabelledExample: Sendable, Equatable {
  /// Where the text lies, relative to the dataset's folder, with '/' between names. Of a text that lies in several places, the first in
  /// the order of UTF-8 bytes.
  public let path: String
  /// The text as it was decoded: LF line ends, otherwise untouched. Leading and trailing white space is kept.
  public let text: String
  /// The labels, without repetition, in the order of their UTF-8 bytes.
  public let labels: [String]
  /// SHA-256 of the text's UTF-8 bytes, as 64 hexadecimal digits.
  public let digest: String

  /// An example; sorts the labels, drops repeated ones and computes the digest.
  public init(path: String, text: String, labels: [String]) {
    self.init(path: path, text: text, labels: labels.distinctByBytes(), digest: SHA256.digest(Array(text.utf8)))
  }

  /// For labels that are sorted and a digest that is known.
  init(path: String, text: String, labels: [String], digest: String) {
    self.path = path
    self.text = text
    self.labels = labels
    self.digest = digest
  }

  /// Whether path, labels and text are the same bytes.
  public static func == (left: LabelledExample, right: LabelledExample) -> Bool {
    left.digest == right.digest && left.path.hasSameBytes(as: right.path) && left.labels.hasSameBytes(as: right.labels)
  }
}
