import DibitTestSupport
import Foundation
import Testing

/// Ctrl-C and a full disk while files are being written.
@Suite(.serialized) struct InterruptTests {
  @Test func trainingStopsAndGoesOn() throws {
    let work = try Workplace(perLabel: 20)
    let arguments = ["train", work.model, "--data", work.data, "-o", work.adapter, "--epochs", "10000", "--rank", "4"]
    let process = try DibitProcess(arguments)
    try process.wait { process.errors.contains("training:") }
    process.interrupt()
    let outcome = try process.finish()
    #expect(outcome.status == 130)
    #expect(outcome.errorLines.count == 1)
    let line = outcome.errorLines.first ?? ""
    #expect(line.hasPrefix("error: interrupted after step "))
    #expect(line.hasSuffix("of 90,000: its checkpoint is in '\(work.adapter).checkpoints'; the same command with --resume goes on"))
    #expect(work.scratch.names == ["adapter.checkpoints", "data", "model", "source"])
    let again = try DibitProcess(arguments)
    let refused = try again.finish()
    #expect(refused.status == 73)
    #expect(refused.errorLines.first?.hasSuffix("pass --resume to go on, or --overwrite to begin anew") == true, "\(refused.errors)")
    let resumed = try DibitProcess(arguments + ["--resume"])
    try resumed.wait { resumed.errors.contains("going on after step ") }
    resumed.interrupt()
    #expect(try resumed.finish().status == 130)
  }

  @Test func pretrainingLeavesNothingWhileItReads() throws {
    let scratch = Scratch()
    let text = String(repeating: "the old man and the sea were never far apart\n", count: 20_000)
    for file in 0..<8 { try scratch.write(text, to: "text/\(file).txt") }
    let recipe = try scratch.write(
      """
      data: \(scratch("text"))
      model: {vocab_size: 300, hidden_dim: 32, num_layers: 1, num_heads: 2, num_kv_heads: 1}
      steps: 1000000

      """, to: "recipe.yaml")
    let process = try DibitProcess(["pretrain", recipe, "-o", scratch("base")])
    try process.wait { process.errors.contains("tokenizing the text:") }
    process.interrupt()
    let outcome = try process.finish()
    #expect(outcome.status == 130)
    #expect(outcome.errorLines == ["error: interrupted while the text was read; nothing was written"])
    #expect(scratch.names == ["recipe.yaml", "text"])
  }

  @Test func convertingLeavesNothing() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    // A large tensor of zeros costs no time to make and enough to convert.
    let (rows, columns) = (65_536, 1024)
    var config = try text(source + "/config.json")
    config = config.replacing("\"vocab_size\": 320", with: "\"vocab_size\": \(rows)").replacing(
      "\"hidden_size\": 64", with: "\"hidden_size\": \(columns)")
    try scratch.remove("source/config.json")
    try scratch.write(config, to: "source/config.json")
    try writeLargeCheckpoint(rows: rows, columns: columns, to: scratch)
    let process = try DibitProcess(["convert", source, "-o", scratch("model"), "--threads", "1"])
    try process.wait { process.errors.contains("converting:") }
    process.interrupt()
    let outcome = try process.finish()
    #expect(outcome.status == 130)
    #expect(outcome.errorLines == ["error: converting '\(source)': interrupted: nothing was written"])
    #expect(outcome.output == "")
    #expect(scratch.names == ["source"])
  }

  /// A llama of these sizes whose weights are holes in a file.
  private func writeLargeCheckpoint(rows: Int, columns: Int, to scratch: Scratch) throws {
    var shapes: [(name: String, shape: [Int])] = [("model.embed_tokens.weight", [rows, columns])]
    for layer in 0..<2 {
      let block = "model.layers.\(layer)."
      for norm in ["input_layernorm", "post_attention_layernorm"] { shapes.append((block + norm + ".weight", [columns])) }
      let (q, k) = (columns, columns / 2)
      for (name, rows) in [("q_proj", q), ("k_proj", k), ("v_proj", k), ("o_proj", q)] {
        shapes.append((block + "self_attn." + name + ".weight", [rows, columns]))
      }
      shapes += [("gate_proj", [96, columns]), ("up_proj", [96, columns]), ("down_proj", [columns, 96])].map {
        (block + "mlp." + $0.0 + ".weight", $0.1)
      }
    }
    shapes += [("model.norm.weight", [columns]), ("lm_head.weight", [rows, columns])]
    var (header, end) = ([String](), 0)
    for (name, shape) in shapes {
      let bytes = shape.reduce(4, *)
      header.append("\"\(name)\":{\"dtype\":\"F32\",\"shape\":\(shape),\"data_offsets\":[\(end),\(end + bytes)]}")
      end += bytes
    }
    let json = Array("{\(header.joined(separator: ","))}".utf8)
    let path = scratch("source/model.safetensors")
    try scratch.remove("source/model.safetensors")
    try scratch.write((0..<8).map { UInt8(truncatingIfNeeded: json.count >> (8 * $0)) } + json, to: "source/model.safetensors")
    let file = try #require(FileHandle(forWritingAtPath: path))
    try file.truncate(atOffset: UInt64(8 + json.count + end))
    try file.close()
  }

  @Test(.enabled(if: canMount, "only root can mount a small file system"))
  func fullDisk() throws {
    let scratch = Scratch()
    let source = try TinyCheckpoint.llama().write(to: scratch)
    let disk = try scratch.directory("disk")
    try #require(run("/bin/mount", ["-t", "tmpfs", "-o", "size=32k", "none", disk]) == 0)
    defer { #expect(run("/bin/umount", [disk]) == 0) }
    let outcome = try dibit("convert", source, "-o", disk + "/model", "--bits", "32")
    #expect(outcome.status == 74)
    #expect(outcome.output == "")
    #expect(outcome.errorLines.count == 1)
    let line = outcome.errorLines.first ?? ""
    #expect(line.hasPrefix("error: converting '\(source)': '\(disk)': ") && line.contains(" bytes are needed there, "), "\(line)")
    #expect(line.hasSuffix(" are free; make room or choose another place"), "\(line)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk) == [])
  }

  /// Whether this process may mount a file system.
  static let canMount: Bool = {
    guard geteuid() == 0 else { return false }
    let scratch = Scratch()
    guard let disk = try? scratch.directory("disk"), run("/bin/mount", ["-t", "tmpfs", "-o", "size=32k", "none", disk]) == 0 else {
      return false
    }
    return run("/bin/umount", [disk]) == 0
  }()
}

/// Runs a system tool quietly.
func run(_ path: String, _ arguments: [String]) -> Int32 {
  let process = Process()
  process.executableURL = URL(filePath: path)
  process.arguments = arguments
  process.standardError = FileHandle.nullDevice
  do { try process.run() } catch { return -1 }
  process.waitUntilExit()
  return process.terminationStatus
}
