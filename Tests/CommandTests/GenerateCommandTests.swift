import DibitJSON
import DibitTestSupport
import Foundation
import Testing

/// `dibit generate` with everything that chooses tokens and ends a text.
@Suite struct GenerateCommandTests {
  private let scratch = Scratch()
  private let model: String

  init() throws { model = try TinyCheckpoint.llama().write(to: scratch) }

  private func generate(_ arguments: String...) throws -> Outcome {
    let all = ["generate", model, "--raw", "--prompt", "the goal", "--max-tokens", "30"] + arguments
    let outcome = try DibitProcess(all).finish()
    #expect(outcome.status == 0, "\(outcome.errors)")
    return outcome
  }

  @Test func jsonIsWhatIsStreamed() throws {
    let choice = [
      "--temperature", "1.2", "--seed", "3", "--top-k", "50", "--top-p", "0.99", "--min-p", "0.001", "--repetition-penalty", "1.2",
    ]
    func run(_ more: String...) throws -> Outcome {
      let outcome = try DibitProcess(["generate", model, "--raw", "--prompt", "the goal", "--max-tokens", "30"] + choice + more).finish()
      #expect(outcome.status == 0, "\(outcome.errors)")
      return outcome
    }
    let (streamed, whole, object) = (try run(), try run("--no-stream"), try run("--json").json())
    #expect(streamed.output == whole.output)
    #expect(object.object?.keys == ["text", "finish_reason", "stop_string", "prompt_tokens", "tokens", "prompt_seconds", "seconds"])
    #expect(streamed.output == "the goal" + (object["text"]?.string ?? "?") + "\n")
    #expect(object["tokens"]?.array?.count == 30)
    #expect(object["finish_reason"] == "length")
    #expect(object["stop_string"]?.isNull == true)
    #expect(try run("--repetition-window", "0").output != streamed.output)
  }

  @Test func stopStrings() throws {
    let free = try generate("--json").json()["text"]?.string ?? ""
    // Three characters from the middle of the text, in which they may come earlier too.
    let stop = String(free.dropFirst(free.count / 2).prefix(3))
    try #require(stop.count == 3)
    let expected = String(free[..<(free.range(of: stop)?.lowerBound ?? free.endIndex)])
    let stopped = try generate("--json", "--stop", "never, never", "--stop", stop).json()
    #expect(stopped["text"]?.string == expected)
    #expect(stopped["finish_reason"] == "stop")
    #expect(stopped["stop_string"]?.string == stop)
    #expect(try generate("--stop", stop).output == "the goal" + expected + "\n")
  }

  @Test("what an adapter for tags answers is not cut off either")
  func stopOfTags() throws {
    let work = try Workplace(adapter: true)
    let call = ["generate", work.model, "--adapter", work.adapter, "--prompt", "soup and bread", "--max-tokens", "60"]
    try expectFailure(
      call + ["--stop", "\"]"], status: 64,
      message: "--stop: the adapter tags texts and ends its answer itself; leave it out, or pass --raw")
    #expect(try dibit(call + ["--stop", "\"]", "--raw"]).status == 0)
  }

  @Test func logProbabilities() throws {
    let result = try generate("--json", "--logprobs", "2", "--prompt-logprobs").json()
    let tokens = try #require(result["tokens"]?.array)
    let scores = try #require(result["logprobs"]?.array)
    #expect(scores.map { $0["id"] } == tokens.map { $0 })
    for score in scores {
      #expect(score.object?.keys == ["id", "text", "logprob", "top"])
      // Greedy: the chosen token is the most likely one.
      #expect(score["top"]?.array?.count == 2)
      #expect(score["top"]?.array?.first?["id"] == score["id"])
      #expect(score["top"]?.array?.first?["logprob"] == score["logprob"])
      #expect(score["logprob"]?.double ?? 1 < 0)
    }
    let prompt = try #require(result["prompt_logprobs"]?.array)
    #expect(prompt.count == result["prompt_tokens"]?.int)
    #expect(prompt.map(\.isNull) == [true] + [Bool](repeating: false, count: prompt.count - 1))
    let bare = try generate("--json", "--logprobs", "0").json()
    #expect(bare["logprobs"]?.array?.first?.object?.keys == ["id", "text", "logprob"])
    #expect(bare["logprobs"]?.array?.first?["logprob"] == scores.first?["logprob"])
  }
}
