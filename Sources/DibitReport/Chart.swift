/// A chart as an SVG element of a page, whose style sheet gives it colours.
///
/// The drawing is 360 units wide, so that its text can be read where a phone shows it at that width.
struct Chart {
  /// The range of an axis with its marks.
  struct Axis {
    let label: String
    let end: Double
    let ticks: [(value: Double, text: String)]

    /// From 0 to 1, in percent.
    static func share(_ label: String) -> Axis {
      Axis(label: label, end: 1, ticks: [0, 0.25, 0.5, 0.75, 1].map { (value: $0, text: fixed(100 * $0, 0)) })
    }

    /// From 0 to a round number at or above `largest`, with about four marks; whole numbers only if so asked.
    static func upTo(_ largest: Double, _ label: String, factor: Double = 1, whole: Bool = false) -> Axis {
      let largest = largest.isFinite && largest > 0 ? min(largest * factor, 1e12) : 1
      var step = whole ? 1.0 : 1e-9
      // 1, 2, 5, 10, 20, …
      for index in sequence(first: 0, next: { ($0 + 1) % 3 }) {
        guard largest / step > 5 else { break }
        step *= index == 1 ? 2.5 : 2
      }
      let count = Int((largest / step).rounded(.up))
      let places = step >= 1 ? 0 : step >= 0.1 ? 1 : step >= 0.01 ? 2 : step >= 0.001 ? 3 : 6
      return Axis(
        label: label, end: Double(count) * step / factor,
        ticks: (0...count).map { (value: Double($0) * step / factor, text: fixed(Double($0) * step, places)) })
    }
  }

  private static let (left, right, top, bottom) = (46.0, 344.0, 10.0, 236.0)
  private let x: Axis
  private let y: Axis
  private let title: String
  private let detail: String
  private var marks = ""

  /// An empty chart. `title` and `detail` are what somebody hears who cannot see it; plain text.
  init(title: String, detail: String, x: Axis, y: Axis) { (self.title, self.detail, self.x, self.y) = (title, detail, x, y) }

  private func coordinates(_ value: Double, _ share: Double) -> String {
    coordinate(Self.left + (Self.right - Self.left) * max(0, min(1, value / x.end))) + " "
      + coordinate(Self.bottom - (Self.bottom - Self.top) * max(0, min(1, share / y.end)))
  }

  /// A line through points, with the style of `name`.
  mutating func line(_ points: [(x: Double, y: Double)], _ name: String) {
    guard let first = points.first else { return }
    let path = "M" + coordinates(first.x, first.y) + points.dropFirst().map { "L" + coordinates($0.x, $0.y) }.joined()
    marks += "<path class=\"\(name)\" d=\"\(path)\"/>"
  }

  /// Dots at points.
  mutating func dots(_ points: [(x: Double, y: Double)], _ name: String, radius: Double = 3) {
    for point in points {
      let both = coordinates(point.x, point.y).split(separator: " ")
      marks += "<circle class=\"\(name)\" cx=\"\(both[0])\" cy=\"\(both[1])\" r=\"\(coordinate(radius))\"/>"
    }
  }

  /// A bar from `lower` to `upper` on both axes, with a text that shows where a pointer rests.
  mutating func bar(x range: (lower: Double, upper: Double), y height: (lower: Double, upper: Double), _ name: String, _ note: String) {
    let gap = 1.5
    let x0 = Self.left + (Self.right - Self.left) * max(0, range.lower / x.end) + gap
    let x1 = Self.left + (Self.right - Self.left) * min(1, range.upper / x.end) - gap
    let y0 = Self.bottom - (Self.bottom - Self.top) * min(1, height.upper / y.end)
    let y1 = Self.bottom - (Self.bottom - Self.top) * max(0, height.lower / y.end)
    guard x1 > x0, y1 >= y0 else { return }
    marks +=
      "<rect class=\"\(name)\" x=\"\(coordinate(x0))\" y=\"\(coordinate(y0))\" width=\"\(coordinate(x1 - x0))\" height=\"\(coordinate(y1 - y0))\">"
      + "<title>\(note.html)</title></rect>"
  }

  /// The element. `id` is unique in the page.
  func svg(_ id: String) -> String {
    var text = "<svg class=\"chart\" viewBox=\"0 0 360 284\" role=\"img\" aria-labelledby=\"\(id)-t \(id)-d\">"
    text += "<title id=\"\(id)-t\">\(title.html)</title><desc id=\"\(id)-d\">\(detail.html)</desc>"
    for tick in y.ticks {
      text += "<path class=\"grid\" d=\"M\(coordinates(0, tick.value))H\(coordinate(Self.right))\"/>"
      let height = coordinates(0, tick.value).split(separator: " ")[1]
      text += "<text x=\"40\" y=\"\(height)\" dy=\"4\" text-anchor=\"end\">\(tick.text.html)</text>"
    }
    for tick in x.ticks {
      let across = coordinates(tick.value, 0).split(separator: " ")[0]
      text += "<text x=\"\(across)\" y=\"254\" text-anchor=\"middle\">\(tick.text.html)</text>"
    }
    text += "<path class=\"axis\" d=\"M\(coordinate(Self.left)) \(coordinate(Self.bottom))H\(coordinate(Self.right))\"/>" + marks
    text += "<text x=\"\(coordinate((Self.left + Self.right) / 2))\" y=\"276\" text-anchor=\"middle\">\(x.label.html)</text>"
    text +=
      "<text transform=\"translate(10 \(coordinate((Self.top + Self.bottom) / 2))) rotate(-90)\" text-anchor=\"middle\">\(y.label.html)</text>"
    return text + "</svg>"
  }
}
