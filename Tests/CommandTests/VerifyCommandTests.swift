import DibitTestSupport
import Testing

@Suite struct VerifyCommandTests {
  private let fixture = String(#filePath.dropLast("CommandTests/VerifyCommandTests.swift".count)) + "Fixtures/parity/llama"

  @Test("a tolerance makes the difference a matter of the exit status")
  func tolerance() throws {
    let call = ["verify", fixture, "--reference", fixture + "/reference.safetensors", "--gradients"]
    #expect(try dibit(call).status == 0)
    #expect(try dibit(call + ["--tolerance", "1e-2"]).status == 0)
    let strict = try dibit(call + ["--tolerance", "0"])
    #expect(strict.status == 3)
    #expect(strict.output.hasPrefix("the model: logits differ by "))
    #expect(strict.errors.hasPrefix("error: the logits differ by ") && strict.errors.hasSuffix("more than --tolerance 0.0\n"))
    try expectFailure(
      ["verify", fixture, "--reference", fixture, "--tolerance=-1"], status: 64,
      message: "--tolerance: expected a number from 0 on, found -1.0; see 'dibit verify --help'")
  }
}
