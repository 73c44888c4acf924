internal import DibitJSON
internal import DibitTokenizer

/// Rows of JSON, one on each line.
///
/// A row is one of `{"messages": […]}`, a list of messages, `{"prompt": …, "completion": …}`, and `{"text": …, "label": …}` with the names
/// of ``RowOptions``.
struct JSONLinesReader: ~Copyable, RowReader {
  private let path: String
  private let file: String
  private let options: RowOptions
  private var cursor: TextCursor
  private var labels = SharedLabels()
  private var bytes: [UInt8] = []

  /// Nested deeper, a row is no example: a message lies at the third level, its parts at the fifth.
  private static let depthLimit = 16

  /// A reader of `stream`; `path` is what its rows give as their location, `file` what errors call it.
  init(_ stream: consuming TextStream, path: String, file: String, options: RowOptions) {
    (self.path, self.file) = (path, file)
    self.options = options
    cursor = TextCursor(stream)
  }

  var encoding: TextEncoding { cursor.stream.encoding }
  var replacements: Int { cursor.stream.replacements }
  var bytesRead: Int { cursor.stream.bytesRead }

  mutating func next() throws(DatasetError) -> DatasetExample? {
    guard let line = try cursor.nextRow(into: &bytes, limit: options.maximumRowBytes, file: file) else { return nil }
    let value: JSONValue
    do throws(JSONError) { value = try JSONValue(parsing: bytes, depthLimit: Self.depthLimit) } catch {
      let (fault, column) = RowFault.json(error)
      throw .row(file: file, line: line, column: column, fault: fault)
    }
    do throws(RowFault) { return try example(value, line: line) } catch {
      throw .row(file: file, line: line, column: nil, fault: error)
    }
  }

  private mutating func example(_ value: JSONValue, line: Int) throws(RowFault) -> DatasetExample {
    guard options.needsLabels else { return .labelled(try unlabelled(value, line)) }
    if let list = value.array { return .conversation(try conversation(list, line)) }
    guard let row = value.object else { throw .notARow(found: value.kind) }
    if options.textColumn == nil && options.labelColumn == nil {
      for key in ["functions", "images"] where row[key].map({ !$0.isNull && $0.array?.isEmpty != true }) ?? false {
        throw .unsupportedKey(key, what: key == "images" ? "a picture" : "a tool")
      }
      if let messages = row["messages"] {
        guard let list = messages.array else { throw .wrongType(key: "messages", expected: "a list of messages", found: messages.kind) }
        return .conversation(try conversation(list, tools: row["tools"], line))
      }
      if let tools = row["tools"], !tools.isNull, tools.array?.isEmpty != true { throw .unsupportedKey("tools", what: "a tool") }
      if let prompt = row["prompt"], let completion = row["completion"] {
        let said = [
          ChatMessage(role: .user, content: try string(prompt, "prompt")),
          ChatMessage(role: .assistant, content: try string(completion, "completion")),
        ]
        guard let conversation = Conversation(path: path, line: line, messages: said) else { throw .noAnswer }
        return .conversation(conversation)
      }
    }
    return .labelled(try labelled(row, line))
  }

  // MARK: Labelled texts

  private func unlabelled(_ value: JSONValue, _ line: Int) throws(RowFault) -> LabelledExample {
    let names = options.textColumn.map { [$0] } ?? RowOptions.textNames
    guard let row = value.object else { throw .wrongType(key: "the row", expected: "an object with a text", found: value.kind) }
    for name in names {
      if let text = row[name] { return LabelledExample(path: path, line: line, text: try string(text, name), labels: []) }
    }
    throw .noText(key: options.textColumn, found: row.keys, takesName: options.takesNames)
  }

  private mutating func labelled(_ row: JSONObject, _ line: Int) throws(RowFault) -> LabelledExample {
    let textKey = try key(options.textColumn, RowOptions.textNames, in: row, "messages, prompt and completion, or text and label")
    let labelKey = try key(options.labelColumn, RowOptions.labelNames, in: row, "a label beside '\(textKey)'")
    guard !textKey.hasSameBytes(as: labelKey) else { throw .sameColumn(textKey) }
    guard let text = row[textKey], let label = row[labelKey] else { throw .missingKey(textKey, found: row.members.map(\.key)) }
    let words = try string(text, textKey)
    guard !label.isNull, let found = try RowOptions.checked(try labels(in: label, labelKey), key: labelKey) else {
      throw .unlabelled(key: labelKey, text: words)
    }
    return LabelledExample(path: path, line: line, text: words, labels: labels.share(found))
  }

  private func key(_ asked: String?, _ names: [String], in row: JSONObject, _ expected: String) throws(RowFault) -> String {
    if let asked {
      guard row[asked] != nil else { throw .missingKey(asked, found: row.members.map(\.key)) }
      return asked
    }
    guard let name = names.first(where: { row[$0] != nil }) else {
      throw .unknownShape(keys: row.members.map(\.key), expected: expected)
    }
    return name
  }

  private func labels(in value: JSONValue, _ key: String) throws(RowFault) -> [String] {
    if let text = value.string { return options.labels(in: text) }
    guard let list = value.array else { return [try label(value, key)] }
    var labels: [String] = []
    for item in list { labels.append(try label(item, key)) }
    return labels
  }

  /// Whole numbers and truth values are labels too.
  private func label(_ value: JSONValue, _ key: String) throws(RowFault) -> String {
    switch value {
    case .string(let text): return RowOptions.trimmed(text)
    case .integer(let number): return String(number)
    case .bool(let value): return value ? "true" : "false"
    default: throw .wrongType(key: key, expected: "a label or a list of labels", found: value.kind)
    }
  }

  private func string(_ value: JSONValue, _ key: String) throws(RowFault) -> String { try ChatMessage.text(value, key) }

  // MARK: Conversations

  private func conversation(_ list: [JSONValue], tools: JSONValue? = nil, _ line: Int) throws(RowFault) -> Conversation {
    guard !list.isEmpty else { throw .noMessages }
    if let first = list[0].object, first["role"] == nil, first[options.textColumn ?? "text"] != nil { throw .listOfRows }
    if let (use, words) = try ToolUse.read(list, tools: tools) {
      var learnt = words.indices.filter { words[$0].role == .assistant && list[$0]["weight"]?.double != 0 }
      if options.answers == .last { learnt = Array(learnt.suffix(1)) }
      guard let conversation = Conversation(path: path, line: line, words: words, toolUse: use, answers: learnt) else {
        throw .nothingLearnt
      }
      return conversation
    }
    var messages: [ChatMessage] = []
    var answers: [Int] = []
    for (index, value) in list.enumerated() {
      guard let object = value.object else { throw .wrongType(key: "messages", expected: "objects", found: value.kind) }
      let message = try ChatMessage(object, index: index)
      if message.role == .assistant, object["weight"]?.double != 0 { answers.append(index) }
      messages.append(message)
    }
    if let fault = Conversation.fault(in: messages) { throw fault }
    if options.answers == .last { answers = Array(answers.suffix(1)) }
    guard let conversation = Conversation(path: path, line: line, messages: messages, answers: answers) else { throw .nothingLearnt }
    return conversation
  }
}
