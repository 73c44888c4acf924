internal import DibitCheckpoint
internal import DibitFiles
package import DibitJSON
package import DibitJinja
package import DibitTokenizer

/// The chat settings of a model's source: its template and the tokens that the template may name.
package struct ChatSource: Sendable {
  /// The template; nil where the source has none.
  package let template: JinjaChatTemplate?
  /// The spellings of the tokens that end an answer.
  package let endTokens: [String]
  /// The same as a `tokenizer_config.json`, to be kept beside a converted model; nil where the source says nothing.
  package let json: JSONValue?
  /// SHA-256 of the template and the tokens that it may name; nil where the source has no template.
  package var digest: String? { template == nil ? nil : json.map { SHA256.digest(Array($0.serialized().utf8)) } }

  private static let tokenKeys = ["bos_token", "eos_token", "unk_token", "pad_token"]

  /// Reads what lies beside a model, or within its GGUF file.
  ///
  /// - Throws: ``ModelStoreError``; for a template outside the supported subset too.
  package static func open(_ path: String) throws(ModelStoreError) -> ChatSource {
    try ChatSource(try members(path), path: path)
  }

  /// Returns the `tokenizer_config.json` that lies beside a model, whether or not the template in it can be rendered; nil where there is
  /// nothing.
  package static func settings(of path: String) throws(ModelStoreError) -> JSONValue? {
    let members = try members(path)
    return members.count > 0 ? .object(members) : nil
  }

  private static func members(_ path: String) throws(ModelStoreError) -> JSONObject {
    var members = JSONObject()
    if let file = ggufFile(of: path) {
      members = try gguf(file)
      // A GGUF file stands for itself; in a directory, what lies beside it comes first.
      guard isDirectory(path) else { return members }
    }
    let directory = ModelSource.directory(of: path)
    if isRegularFile(directory + "/" + StoreFile.tokenizerConfiguration) {
      let json = try readJSON(StoreFile.tokenizerConfiguration, in: directory)
      // A token is a text, or an object that describes an added token.
      for key in tokenKeys { if let text = json[key]?.string ?? json[key]?["content"]?.string { members[key] = .string(text) } }
      if let template = json["chat_template"], !template.isNull { members["chat_template"] = template }
    }
    if isRegularFile(directory + "/" + StoreFile.chatTemplate) {
      members["chat_template"] = .string(String(decoding: try readBytes(StoreFile.chatTemplate, in: directory), as: UTF8.self))
    }
    return members
  }

  private init(_ members: JSONObject, path: String) throws(ModelStoreError) {
    json = members.count > 0 ? .object(members) : nil
    endTokens = members["eos_token"]?.string.map { [$0] } ?? []
    guard let source = members["chat_template"].flatMap({ JinjaChatTemplate.source(in: $0) }) else {
      template = nil
      return
    }
    let tokens = Self.tokenKeys.compactMap { key in members[key]?.string.map { (name: key, token: $0) } }
    do throws(JinjaError) { template = try JinjaChatTemplate(jinja: source, specialTokens: tokens) } catch {
      throw .chatTemplate(error.description, path: path)
    }
  }

  /// Returns the format of chats with the model; the template sees no tools, and `today` where it asks for the date.
  package func format(for tokenizer: Tokenizer, today: JinjaClock?) -> ChatFormat {
    ChatFormat(tokenizer: tokenizer, jinja: template, endTokens: endTokens, clock: today)
  }

  /// The file that says most of chats: the template's, else that of the tokens; nil where there is none.
  static func file(of path: String) -> String? {
    let gguf = ggufFile(of: path)?.path
    guard gguf == nil || isDirectory(path) else { return gguf }
    let directory = ModelSource.directory(of: path)
    return [StoreFile.chatTemplate, StoreFile.tokenizerConfiguration].map { directory + "/" + $0 }.first(where: isRegularFile) ?? gguf
  }

  /// The tokenizer keys of a GGUF file.
  private static func gguf(_ file: MappedFile) throws(ModelStoreError) -> JSONObject {
    do throws(CheckpointError) {
      let gguf = try GGUFFile(file.bytes, file: file.path)
      let tokens = gguf["tokenizer.ggml.tokens"]?.array?.strings
      var members = JSONObject()
      for (key, name) in [("bos_token", "bos"), ("eos_token", "eos"), ("unk_token", "unknown"), ("pad_token", "padding")] {
        guard let id = gguf["tokenizer.ggml.\(name)_token_id"]?.int, let tokens, tokens.indices.contains(id) else { continue }
        members[key] = .string(String(decoding: tokens[id], as: UTF8.self))
      }
      if let template = gguf["tokenizer.chat_template"]?.text { members["chat_template"] = .string(template) }
      return members
    } catch { throw .checkpoint(error) }
  }
}
