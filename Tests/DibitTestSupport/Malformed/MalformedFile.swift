/// A file, or a directory of files, that no reader may accept.
package struct MalformedFile: Sendable, CustomStringConvertible {
  /// What reads it.
  package enum Reader: Sendable {
    /// A model: its tensors, configuration and weights.
    case model
    /// A tokenizer.
    case tokenizer
    /// An adapter of ``MalformedFile/hostModel``'s model.
    case adapter
    /// What a model says about chats; the template is rendered.
    case chat
  }

  /// What is wrong with it, in a few words; the published vulnerability that it replays, where there is one.
  package let description: String
  /// What reads it.
  package let reader: Reader
  /// The files by name; the first one is opened, or the directory when there are several.
  package let files: [(name: String, bytes: [UInt8])]
  /// A part of the message that only the right fault has.
  package let says: String

  /// A malformed file or directory.
  package init(_ description: String, _ files: [(name: String, bytes: [UInt8])], for reader: Reader = .model, says: String) {
    self.description = description
    self.reader = reader
    self.files = files
    self.says = says
  }

  /// Every malformed file, of all formats.
  package static var all: [MalformedFile] {
    wrongKinds + safetensors + shards + gguf + pytorch + hdf5 + llama2c + configurations + keras + tokenizers + vocabularies + adapters
      + chats
  }
}

/// Bytes that are put together field by field, little-endian.
package struct ByteBuilder: Sendable {
  /// What was appended so far.
  package var bytes: [UInt8] = []

  /// Nothing yet.
  package init() {}

  /// Appends the bytes of an integer.
  package mutating func append<Number: FixedWidthInteger>(_ number: Number) {
    for byte in 0..<Number.bitWidth / 8 { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * byte))) }
  }

  /// Appends the bits of a float.
  package mutating func append(_ number: Float) { append(number.bitPattern) }

  /// Appends text as it is.
  package mutating func append(_ text: String) { bytes += Array(text.utf8) }

  /// Appends bytes.
  package mutating func append(_ more: [UInt8]) { bytes += more }
}
