/// The help of a command, laid out for the width of the terminal.
///
/// The argument parser breaks lines that are too long and keeps the line ends of the source, which then stand in odd places. Here the lines
/// of a paragraph are joined before they are broken. Examples and lines that begin with a space keep to themselves.
struct HelpText {
  /// So wide that the argument parser breaks no line.
  static let unwrapped = 10_000
  /// The width where there is no terminal.
  static let usualWidth = 80
  /// Narrower, words would stand alone.
  private static let narrowest = 40
  /// The column in which the explanations of options begin.
  private static let explanation = 26
  private static let overview = "OVERVIEW: "
  private static let usage = "USAGE: "

  private let text: String

  /// Takes a text that the parser wrote with ``unwrapped`` columns: help, or anything else, which stays as it is.
  init(_ text: String) { self.text = text }

  /// The text without a line longer than `width`, but for words that are.
  func wrapped(to width: Int) -> String {
    guard text.hasPrefix(Self.overview) else { return text }
    let width = max(width, Self.narrowest)
    var (lines, paragraph): ([String], [Substring]) = ([], [])
    var isOverview = true
    func endParagraph() {
      guard !paragraph.isEmpty else { return }
      lines += Self.wrap(paragraph.joined(separator: " "), to: width, hanging: 0)
      paragraph = []
    }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix(Self.usage) { isOverview = false }
      if isOverview, let first = line.first, first != " ", !line.hasPrefix("Example: ") {
        paragraph.append(line)
        continue
      }
      endParagraph()
      let hanging = isOverview ? line.prefix { $0 == " " }.count + 4 : line.hasPrefix(" ") ? Self.explanation : Self.usage.count
      lines += Self.wrap(String(line), to: width, hanging: hanging)
    }
    endParagraph()
    return lines.joined(separator: "\n")
  }

  /// Breaks a line at spaces; the second and later ones begin with `hanging` spaces. Spaces before that column stay as they are.
  private static func wrap(_ line: String, to width: Int, hanging: Int) -> [String] {
    guard line.count > width else { return [line] }
    let indent = line.prefix { $0 == " " }.count
    // A label and the spaces behind it are not broken.
    let label = hanging == explanation && line.count > hanging && line.dropFirst(hanging - 1).first == " " ? hanging : indent
    var (lines, current) = ([String](), String(line.prefix(label)))
    var isStart = true
    for word in line.dropFirst(label).split(separator: " ") {
      if !isStart, current.count + 1 + word.count > width {
        lines.append(current)
        (current, isStart) = (String(repeating: " ", count: min(hanging, width / 2)), true)
      }
      current += (isStart ? "" : " ") + word
      isStart = false
    }
    return lines + [current]
  }
}
