internal import DibitCheckpoint
public import DibitTokenizer

/// Finds the tokenizer of a model, in whatever form its source keeps it.
public enum TokenizerSource {
  /// The files that a directory may keep its tokenizer in, the one to prefer first.
  private static let names = [StoreFile.tokenizer]

  /// Reads a tokenizer file, or the tokenizer of a model directory.
  public static func open(_ path: String) throws(ModelStoreError) -> Tokenizer {
    guard isDirectory(path) else { return try read(path) }
    for name in names where isRegularFile(path + "/" + name) { return try read(path + "/" + name) }
    throw .checkpoint(.notFound(path: path + "/" + StoreFile.tokenizer))
  }

  private static func read(_ path: String) throws(ModelStoreError) -> Tokenizer {
    let bytes: [UInt8]
    do throws(CheckpointError) { bytes = try readFile(path, limit: StoreFile.largest) } catch { throw .checkpoint(error) }
    do throws(TokenizerError) { return try Tokenizer(parsing: bytes) } catch { throw .tokenizer(error, path: path) }
  }
}
