import Dibit
import DibitFailure
import DibitKernels
import DibitTestSupport
import DibitTraining
import Foundation
import Testing

/// The training of scales behind a calibration, stopped and taken up again.
@Suite struct ScaleTrainingTests {
  private let scratch = Scratch()
  private let source: String

  init() throws { source = try TinyCheckpoint.llama(context: 32).write(to: scratch) }

  private func convert(
    _ name: String, bits: Int = 2, _ effort: Conversion.Effort = .standard, texts: [String] = [], threads: Int = 2, resumes: Bool = false,
    stopAt: Int = .max
  ) throws -> [Int] {
    var options = Conversion.Options(bits: bits)
    (options.groupSize, options.rounding, options.resumes) = (.weights(32), .calibrated(texts: texts, effort: effort), resumes)
    var steps: [Int] = []
    _ = try ConversionJob(source, to: scratch(name), options: options, on: Compute(threads: threads)).run { progress in
      guard case .trainingScales(let step, let total) = progress else { return true }
      #expect(total == (effort == .thorough && bits == 2 ? 400 : 100))
      steps.append(step)
      return step < stopAt
    }
    return steps
  }

  private func weights(_ name: String) throws -> [UInt8] { try contents(scratch(name) + "/model.safetensors") }

  @Test("stopped at any step, or killed before its checkpoint, it goes on to the same bytes on any number of threads")
  func goesOn() throws {
    #expect(try convert("whole") == Array(0...100))
    for stop in [0, 1, 40, 99] {
      for isKilled in [false, true] {
        let name = "stopped-\(stop)-\(isKilled)"
        let error = try #require(throws: (any Error).self) { try convert(name, stopAt: stop) }
        let directory = scratch(name) + ".checkpoints"
        #expect("\(error)".hasPrefix("interrupted: the text and 2 layers are kept in '\(directory)': "))
        if isKilled { try FileManager.default.removeItem(atPath: directory + "/training.checkpoints") }
        let steps = try convert(name, threads: isKilled ? 1 : 3, resumes: true)
        #expect(steps.first == (isKilled ? 0 : max(stop, 1)) || stop == 0, "\(stop), \(steps.prefix(3))")
        #expect(try weights(name) == weights("whole"))
        #expect(!scratch.names.contains(name + ".checkpoints"))
      }
    }
  }

  @Test("thorough effort trains them longer on a trellis; from four bits on a text of a user's own is needed, and quick effort trains none")
  func lengths() throws {
    let text = try scratch.write(String(repeating: "the goal of the match was the soup of the moon ", count: 400), to: "text.txt")
    #expect(try convert("thorough", .thorough) == Array(0...400))
    #expect(try convert("four-thorough", bits: 4, .thorough, texts: [text]) == Array(0...100))
    #expect(try convert("four", bits: 4) == [])
    #expect(try convert("eight", bits: 8, .thorough, texts: [text]) == [])
    #expect(try convert("quick", .quick, texts: [text]) == [])
  }

  @Test("a training that diverges says what keeps the calibration, in the words of a conversion")
  func diverges() {
    for error in [TrainingError.notANumber(step: 7, checkpoint: nil), .diverged(step: 7, loss: 9, median: 1, checkpoint: 5)] {
      let told = "\(ScaleTraining.told(error, keptIn: "model.checkpoints"))"
      #expect(told.hasPrefix("step 7: the training of scales diverged; the layers as they were rounded are kept in 'model.checkpoints'"))
      #expect(told.contains("quick") && !told.contains("learning rate"))
    }
    #expect("\(ScaleTraining.told(.noExamples, keptIn: ""))" == "\(TrainingError.noExamples)")
  }

  @Test("a calibration that begins anew does not go on with what another one trained")
  func beginsAnew() throws {
    _ = try? convert("model", stopAt: 40)
    var options = Conversion.Options(bits: 2)
    (options.groupSize, options.rounding, options.overwrites) = (.weights(64), .calibrated(effort: .standard), true)
    _ = try ConversionJob(source, to: scratch("model"), options: options, on: Compute()).run { _ in true }
    options.overwrites = false
    _ = try ConversionJob(source, to: scratch("expected"), options: options, on: Compute()).run { _ in true }
    #expect(try weights("model") == weights("expected"))
  }
}
