import DibitCheckpoint
import DibitJSON
import DibitModel
import DibitTensor
import DibitTokenizer
import Glibc

/// The parsers, each of which must take any bytes.
enum FuzzTarget: String, CaseIterable {
  case json
  case checkpoint
  case config
  case tokenizer

  func run(_ bytes: [UInt8]) {
    switch self {
    case .json: _ = try? JSONValue(parsing: bytes, depthLimit: 64)
    case .checkpoint: Self.checkpoint(bytes)
    case .config:
      if let json = try? JSONValue(parsing: bytes, depthLimit: 64) { _ = try? ModelConfiguration(json: json) }
    case .tokenizer:
      guard let tokenizer = try? Tokenizer(parsing: bytes) else { return }
      let ids = tokenizer.encode("a  é 12345 \u{1F600}\n<s>", parsingSpecialTokens: true)
      _ = tokenizer.decode(ids)
    }
  }

  /// Opens a file of any format and reads every tensor that is not larger than the largest file would need.
  private static func checkpoint(_ bytes: [UInt8]) {
    guard let checkpoint = try? Checkpoint.open(bytes: Bytes(SharedBytes(bytes)), named: "fuzz") else { return }
    for name in checkpoint.tensorNames {
      guard let info = checkpoint.info(name), info.count <= 1 << 16 else { continue }
      _ = try? checkpoint.readVector(name)
    }
  }
}

/// The value of an environment variable.
func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

/// Ends the process.
func exitNow(_ code: Int32) -> Never { exit(code) }
