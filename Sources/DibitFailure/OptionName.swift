/// The name of an option in a sentence. Its marks are a character that neither paths nor arguments can hold, and that ``quoted(_:)`` writes out, so
/// that no input is taken for an option.
package func optionName(_ name: String) -> String { "\0\(name)\0" }

/// The sentence with the options that it names as `shown` says them.
package func namingOptions(in sentence: String, as shown: (String) -> String) -> String {
  sentence.replacing(/\0([A-Za-z]+)\0/) { shown(String($0.1)) }
}
