internal import DibitJSON

/// A loss over the steps of training.
package struct LossSeries: Equatable, Sendable {
  /// A loss at a step.
  package struct Point: Equatable, Sendable {
    /// Steps done before it was measured.
    package var step: Int
    /// The loss in nats per token.
    package var loss: Double

    /// A point of known values.
    package init(step: Int, loss: Double) { (self.step, self.loss) = (step, loss) }
  }

  /// The name of the series: "training", "validation".
  package var name: String
  /// In the order of steps.
  package var points: [Point]

  /// A series of points.
  package init(name: String, points: [Point]) { (self.name, self.points) = (name, points) }

  /// At most so many points: what a chart can show.
  private static let maximumPoints = 200

  /// The losses in an event log of training, one event in a line: training, each point the mean of equally many steps, and validation.
  /// Lines that are no events of a step or a validation are passed over.
  package static func read(eventLog bytes: [UInt8]) -> [LossSeries] {
    var (training, validation): ([Point], [Point]) = ([], [])
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let event = try? JSONValue(parsing: line), let step = event["step"]?.int, let loss = event["loss"]?.double, loss.isFinite
      else { continue }
      switch event["event"]?.string {
      case "step": training.append(Point(step: step, loss: loss))
      case "validation": validation.append(Point(step: step, loss: loss))
      default: continue
      }
    }
    let series = [LossSeries(name: "training", points: thinned(training)), LossSeries(name: "validation", points: validation)]
    return series.filter { !$0.points.isEmpty }
  }

  private static func thinned(_ points: [Point]) -> [Point] {
    let stride = (points.count + maximumPoints - 1) / maximumPoints
    guard stride > 1 else { return points }
    return Swift.stride(from: 0, to: points.count, by: stride).map { first in
      let some = points[first..<min(first + stride, points.count)]
      return Point(step: points[some.endIndex - 1].step, loss: some.reduce(0) { $0 + $1.loss } / Double(some.count))
    }
  }
}
