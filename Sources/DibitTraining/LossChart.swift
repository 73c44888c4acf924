/// A chart of a run's losses as an SVG file that needs nothing else.
package struct LossChart: Sendable {
  private let curve: LossCurve
  private let title: String

  private static let (width, height) = (880.0, 440.0)
  private static let (left, right, top, bottom) = (64.0, 864.0, 56.0, 392.0)

  /// A chart of `curve`; the title is plain text.
  package init(_ curve: LossCurve, title: String) { (self.curve, self.title) = (curve, title) }

  /// A line of the chart.
  private struct Line {
    let name: String
    let color: String
    let points: [(step: Int, value: Float)]
    let marks: Bool
  }

  private var lines: [Line] {
    let training = curve.points.indices.map { (curve.step(of: $0), curve.points[$0].loss) }
    let content = curve.points.indices.map { (curve.step(of: $0), curve.points[$0].contentLoss) }
    let validation = curve.validations.map { ($0.step, $0.loss) }
    let validationContent = curve.validations.map { ($0.step, $0.contentLoss) }
    let all = [
      Line(name: "training", color: "#9ab8d8", points: training, marks: false),
      Line(name: "training, content", color: "#e3b778", points: content, marks: false),
      Line(name: "validation", color: "#1f5fa8", points: validation, marks: true),
      Line(name: "validation, content", color: "#b3560f", points: validationContent, marks: true),
    ]
    return all.filter { !$0.points.isEmpty && $0.points.allSatisfy { $0.value.isFinite } }
  }

  /// The file's text; the same curve gives the same bytes.
  package var svg: String {
    let lines = lines
    let most = lines.flatMap { $0.points.map { Double($0.value) } }.max() ?? 1
    let (ySteps, xSteps) = (Self.ticks(to: most), Self.ticks(to: Double(max(curve.steps, 1)), whole: true))
    let (yEnd, xEnd) = (max(ySteps.last ?? 1, most), Double(max(curve.steps, 1)))
    func x(_ step: Double) -> String { Self.number(Self.left + (Self.right - Self.left) * step / xEnd, 1) }
    func y(_ loss: Double) -> String { Self.number(Self.bottom - (Self.bottom - Self.top) * max(0, loss) / yEnd, 1) }
    var text = """
      <svg xmlns="http://www.w3.org/2000/svg" width="880" height="440" viewBox="0 0 880 440" font-family="sans-serif" font-size="13">
      <title>\(Self.escaped(title))</title>
      <rect width="880" height="440" fill="#ffffff"/>
      <text x="64" y="22" font-size="15">\(Self.escaped(title))</text>

      """
    for tick in ySteps {
      text += "<path d=\"M\(Self.left) \(y(tick))H\(Self.right)\" stroke=\"#dddddd\"/>"
      text += "<text x=\"56\" y=\"\(y(tick))\" dy=\"4\" text-anchor=\"end\">\(Self.label(tick))</text>\n"
    }
    for tick in xSteps where tick <= xEnd {
      text += "<path d=\"M\(x(tick)) \(Self.bottom)v5\" stroke=\"#555555\"/>"
      text += "<text x=\"\(x(tick))\" y=\"412\" text-anchor=\"middle\">\(Self.label(tick))</text>\n"
    }
    text += "<path d=\"M\(Self.left) \(Self.top)V\(Self.bottom)H\(Self.right)\" fill=\"none\" stroke=\"#555555\"/>\n"
    text += "<text x=\"464\" y=\"432\" text-anchor=\"middle\">step</text>\n"
    text += "<text transform=\"translate(16 224) rotate(-90)\" text-anchor=\"middle\">nats per token</text>\n"
    for (index, line) in lines.enumerated() {
      let points = line.points.map { "\(x(Double($0.step))),\(y(Double($0.value)))" }
      text += "<polyline points=\"\(points.joined(separator: " "))\" fill=\"none\" stroke=\"\(line.color)\" stroke-width=\"1.8\"/>\n"
      if line.marks, points.count <= 100 {
        for point in line.points {
          text += "<circle cx=\"\(x(Double(point.step)))\" cy=\"\(y(Double(point.value)))\" r=\"2.6\" fill=\"\(line.color)\"/>"
        }
        text += "\n"
      }
      let left = 64 + 200 * index
      text += "<path d=\"M\(left) 40h24\" stroke=\"\(line.color)\" stroke-width=\"3\"/>"
      text += "<text x=\"\(left + 30)\" y=\"44\">\(line.name)</text>\n"
    }
    return text + "</svg>\n"
  }

  /// Round numbers from 0 to at least `end`, about six of them.
  private static func ticks(to end: Double, whole: Bool = false) -> [Double] {
    var step = whole ? 1.0 : 1e-6
    // 1, 2, 5, 10, 20, …
    for factor in sequence(first: 0, next: { ($0 + 1) % 3 }) {
      guard end / step > 6 else { break }
      step *= factor == 1 ? 2.5 : 2
    }
    return (0...Int((end / step).rounded(.up))).map { Double($0) * step }
  }

  private static func label(_ value: Double) -> String {
    guard value < 1e15 else { return "\(value)" }
    if value == value.rounded() { return String(Int(value)) }
    var text = number(value, 6)
    while text.hasSuffix("0") { text.removeLast() }
    return text
  }

  /// A number with a fixed count of decimals.
  private static func number(_ value: Double, _ places: Int) -> String {
    let scale = (0..<places).reduce(1) { scale, _ in scale * 10 }
    let scaled = Int((value * Double(scale)).rounded())
    let digits = String(scaled % scale)
    return "\(scaled / scale)." + String(repeating: "0", count: places - digits.count) + digits
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      // XML has no other way to write these.
      case _ where scalar.value < 0x20: result += " "
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
