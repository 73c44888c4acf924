import DibitFiles
import DibitCheckpoint
import DibitJSON
import DibitTestSupport
import Testing

@testable import DibitTraining

@Suite struct TrainingEventTests {
  private static let measured = TrainingEvent.Measured(time: 1.23456, seconds: 2, tokensPerSecond: 3.5, memoryBytes: nil, secondsLeft: 4)

  private static let tail = #","measured":{"time":1.235,"seconds":2,"tokens_per_second":3.5,"memory_bytes":null,"seconds_left":4}}"#

  @Test("the schema of the event log, byte by byte")
  func schema() {
    let events: [(TrainingEvent.Kind, String)] = [
      (
        .start(.init(mode: .adapter, step: 0, totalSteps: 9, parameters: 8, examples: 7, validationExamples: 6)),
        #"{"schema":1,"event":"start","mode":"adapter","total_steps":9,"parameters":8,"examples":7,"validation_examples":6"#
      ),
      (
        .step(
          .init(step: 1, totalSteps: 9, epoch: 1, tokens: 10, loss: 0.1, contentLoss: 0.2, learningRate: 1e-3, gradientNorm: 2)),
        #"{"schema":1,"event":"step","step":1,"total_steps":9,"epoch":1,"tokens":10,"loss":0.1,"content_loss":0.2,"#
          + #""learning_rate":0.001,"gradient_norm":2"#
      ),
      (
        .validation(.init(step: 1, epoch: 1, loss: 0.5, contentLoss: 0.25, isBest: true)),
        #"{"schema":1,"event":"validation","step":1,"epoch":1,"loss":0.5,"content_loss":0.25,"best":true"#
      ),
      (.checkpoint(.init(step: 1, bytes: 99)), #"{"schema":1,"event":"checkpoint","step":1,"bytes":99"#),
      (
        .end(.init(step: 9, reason: .stoppedEarly, keptStep: 4)),
        #"{"schema":1,"event":"end","step":9,"reason":"stopped early","kept_step":4"#
      ),
    ]
    for (kind, text) in events {
      #expect(JSONValue.object(TrainingEvent(kind: kind, measured: Self.measured).json).serialized() == text + Self.tail)
    }
  }

  @Test func stateComesBack() {
    var state = RunState()
    (state.step, state.tokens, state.lossSum, state.lossCount) = (7, 900, 0.1 + 0.2, 7)
    state.dataPosition = DataPosition(epoch: 2, position: 3, generator: .max)
    state.best = LossCurve.Validation(step: 4, loss: 1.0 / 3, contentLoss: 0.7)
    _ = state.addValidation(loss: 2.0 / 3, contentLoss: 0.9)
    for step in 0..<12 { _ = state.watchdog.hasDiverged(step == 11 ? 1000 : 1 / Float(step + 1), WatchdogOptions()) }
    for step in 0..<1500 { state.curve.add(loss: 1 / Float(step + 1), contentLoss: 3) }
    state.eventBytes = 12
    #expect(state.watchdog.suspicious == 1)
    let text = state.json.serialized()
    let back = (try? JSONValue(parsing: Array(text.utf8))).flatMap(RunState.init)
    #expect(back == state)
    // Whatever is missing or of another type is an error, never a trap.
    guard let object = state.json.object else { return }
    for key in object.keys {
      var broken = object
      broken[key] = .null
      let isOptional = ["validation", "best"].contains(key)
      #expect((RunState(.object(broken)) == nil) == !isOptional, "\(key)")
      broken[key] = "x"
      #expect(RunState(.object(broken)) == nil, "\(key)")
      broken[key] = -1
      #expect(RunState(.object(broken)) == nil || key == "loss_sum", "\(key)")
      broken[key] = nil
      #expect(RunState(.object(broken)) == nil, "\(key)")
    }
  }

  @Test func curveIsBounded() {
    var curve = LossCurve()
    for step in 1...10_000 {
      curve.add(loss: Float(step), contentLoss: 0)
      if step % 4 == 0 { curve.addValidation(loss: 1, contentLoss: 1) }
      #expect(curve.steps == step)
      #expect(curve.points.count <= LossCurve.capacity && curve.validations.count <= LossCurve.capacity)
    }
    #expect(curve.stride == 16)
    // A point is the mean of its steps.
    #expect(abs(curve.points[0].loss - 8.5) < 1e-3)
    #expect(curve.step(of: 0) == 16)
    #expect(curve.step(of: curve.points.count - 1) == 10_000)
    #expect(curve.validations.last?.step == 10_000)
  }

  @Test func chartIsPlainSVG() {
    var curve = LossCurve()
    for step in 1...40 {
      curve.add(loss: 4 / Float(step), contentLoss: 2 / Float(step))
      if step % 10 == 0 { curve.addValidation(loss: 5 / Float(step), contentLoss: 1 / Float(step)) }
    }
    let svg = LossChart(curve, title: "a <b> & c").svg
    #expect(svg.hasPrefix("<svg xmlns=\"http://www.w3.org/2000/svg\""))
    #expect(svg.hasSuffix("</svg>\n"))
    #expect(svg.contains("a &lt;b&gt; &amp; c"))
    #expect(svg.components(of: "<polyline") == 4)
    #expect(svg.components(of: "<circle") == 8)
    #expect(!svg.contains("script") && !svg.contains("href"))
    for word in ["training", "training, content", "validation", "validation, content", "step", "nats per token"] {
      #expect(svg.contains(">\(word)</text>"))
    }
    // The first point: step 1 of 40, loss 4 of 4.
    #expect(svg.contains("points=\"84.0,56.0 "))
    #expect(LossChart(LossCurve(), title: "").svg.hasSuffix("</svg>\n"))
    var huge = LossCurve()
    huge.add(loss: 3e38, contentLoss: 1e-30)
    #expect(LossChart(huge, title: "").svg.components(of: "<polyline") == 2)
  }

  @Test func checksums() {
    // RFC 3720, appendix B.4.
    #expect(CRC32C.of([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
    #expect(CRC32C.of([UInt8](repeating: 0xFF, count: 32)) == 0x62A8_AB43)
    #expect(CRC32C.of((0..<32).map { UInt8($0) }) == 0x46DD_794E)
    #expect(CRC32C.of(Array("123456789".utf8)) == 0xE306_9283)
  }

  @Test func tensorBoardRecords() throws {
    let scratch = Scratch()
    var log = try TensorBoardLog(directory: scratch("board"), inputs: .none)
    let step = TrainingEvent.Step(
      step: 300, totalSteps: 400, epoch: 1, tokens: 10, loss: 0.5, contentLoss: 0.25, learningRate: 1, gradientNorm: 2)
    try log.add(TrainingEvent(kind: .step(step), measured: Self.measured))
    try log.flush()
    let name = try #require(try files(below: scratch("board")).keys.first)
    #expect(name.hasPrefix("events.out.tfevents."))
    var rest = try contents(scratch("board/" + name))[...]
    var records: [[UInt8]] = []
    func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    while !rest.isEmpty {
      let length = Int(number(rest.prefix(8)))
      #expect(number(rest.dropFirst(8).prefix(4)) == UInt64(CRC32C.masked(Array(rest.prefix(8)))))
      let data = Array(rest.dropFirst(12).prefix(length))
      #expect(number(rest.dropFirst(12 + length).prefix(4)) == UInt64(CRC32C.masked(data)))
      records.append(data)
      rest = rest.dropFirst(16 + length)
    }
    #expect(records.count == 2)
    #expect(Array(records[0].dropFirst(9)) == [0x1A, 13] + Array("brain.Event:2".utf8))
    let first = [0x0A, 17, 0x0A, 10] + Array("loss/train".utf8) + [0x15, 0, 0, 0, 0x3F]
    #expect(Array(records[1].dropFirst(9).prefix(3)) == [0x10, 0xAC, 0x02])
    #expect(Array(records[1].dropFirst(9 + 3 + 2).prefix(first.count)) == first, "\(records[1])")
  }
}

extension String {
  fileprivate func components(of part: String) -> Int { ranges(of: part).count }
}
