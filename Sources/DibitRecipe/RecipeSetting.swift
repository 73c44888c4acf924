internal import DibitFailure
internal import Yams

/// A key and its value from the command line: `lora_parameters.rank=8`.
struct RecipeSetting {
  /// The name that stands in errors in place of a file.
  static let file = optionName("set")

  /// The parts of the key, which is a path with dots.
  let path: [String]
  let value: Node

  init(_ text: String) throws(RecipeError) {
    guard let cut = text.firstIndex(of: "="),
      let value = try? RecipeReader.compose(String(text[text.index(after: cut)...]), file: Self.file)
    else { throw .badSetting(text) }
    path = text[..<cut].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard path.allSatisfy({ !$0.isEmpty }) else { throw .badSetting(text) }
    self.value = value
  }

  private init(path: [String], value: Node) { (self.path, self.value) = (path, value) }

  /// The setting within the section `key`; nil when it is not one of its keys.
  func below(_ key: String) -> RecipeSetting? {
    path.count > 1 && path[0] == key ? RecipeSetting(path: Array(path.dropFirst()), value: value) : nil
  }
}
