internal import DibitInference
internal import DibitJSON
internal import DibitTokenizer

/// One step of a dialogue under way.
struct DialogueRun {
  private let request: DialogueRequest
  private let prompt: DialoguePrompt
  private let format: DialogueFormat
  private let constraints: ConstraintCache
  private let listener: DialogueListener
  /// The calls of the dialogue so far, for their identifiers.
  private(set) var calls: Int

  private var result = DialogueStep()
  private let start = ContinuousClock.now

  /// Calls that one message may make.
  private static let callLimit = 8

  init(
    _ request: DialogueRequest, _ prompt: DialoguePrompt, _ format: DialogueFormat, _ constraints: ConstraintCache,
    _ listener: DialogueListener, calls: Int
  ) {
    (self.request, self.prompt, self.format, self.constraints) = (request, prompt, format, constraints)
    (self.listener, self.calls) = (listener, calls)
  }

  /// Answers, or makes calls.
  mutating func step(_ session: inout PromptSession) throws -> DialogueStep {
    let tools = request.callable
    guard !tools.isEmpty else {
      try answer(&session)
      return result
    }
    if let form = format.callForm, let text = prompt.text {
      try step(&session, form, text, tools)
    } else {
      try guidedStep(&session, tools)
    }
    return result
  }

  // MARK: Answers

  /// Makes the answer behind the prompt, or behind another.
  private mutating func answer(_ session: inout PromptSession, behind tokens: [Int32]? = nil) throws {
    keep(try generate(&session, tokens ?? prompt.tokens, request.options, isAnswer: true))
  }

  private mutating func keep(_ answer: ChatAnswer) {
    (result.generation, result.isCutByContext) = (answer.generation, answer.isCutByContext)
  }

  /// Makes text in a form; told as the answer where it is one.
  private mutating func generate(
    _ session: inout PromptSession, _ tokens: [Int32], _ options: Response.Options, isAnswer: Bool,
    adapting change: (inout GenerationOptions) -> Void = { _ in }
  ) throws -> ChatAnswer {
    var engine = try options.engineOptions(stopTokens: prompt.endTokens)
    change(&engine)
    let constraint = try constraints.constraint(
      narrowed(options.format), otherwise: isAnswer ? prompt.answer : nil, endTokens: prompt.endTokens, session.tokenizer)
    let isFirst = result.counts.prompt == 0
    var counts = result.counts
    if isFirst { counts.prompt = tokens.count }
    counts.read += tokens.count - session.heldTokens(of: tokens)
    var firstToken: ContinuousClock.Instant?
    let answer = try session.answer(
      tokens, options: engine, constraint: constraint,
      receive: { [listener] piece in
        firstToken = firstToken ?? .now
        counts.made += 1
        return listener.receive(.text(isAnswer ? piece : "", counts))
      }, reading: listener.reading)
    guard isAnswer || answer.generation.finishReason != .interrupted else { throw DibitError.cancelled }
    if let firstToken, result.counts.made == 0 { result.firstSeconds = (firstToken - start) / .seconds(1) }
    // Pieces may be more or fewer than tokens: the last may be none of its own.
    counts.made = result.counts.made + answer.generation.tokens.count
    result.counts = counts
    return answer
  }

  /// The form with the labels of an adapter that tags, where a list of texts under its key is asked for.
  private func narrowed(_ form: Response.Format) -> Response.Format {
    guard case .schema(let text) = form, let answer = prompt.answer, let key = answer["properties"]?.object?.keys.first,
      let schema = try? JSONValue(parsing: text), var root = schema.object, var properties = root["properties"]?.object,
      var list = properties[key]?.object, let learnt = answer["properties"]?[key],
      list["items"]?["type"]?.string == "string", list["items"]?["enum"] == nil
    else { return form }
    list["items"] = learnt["items"]
    for limit in ["minItems", "maxItems", "uniqueItems"] where list[limit] == nil { list[limit] = learnt[limit] }
    properties[key] = .object(list)
    root["properties"] = .object(properties)
    return .schema(JSONValue.object(root).serialized())
  }

  // MARK: Calls in the words of the model's template

  private mutating func step(_ session: inout PromptSession, _ form: ToolCallForm, _ text: String, _ tools: [OfferedTool]) throws {
    if request.toolUse != .required, try !begins(&session, form) { return }
    _ = listener.receive(.restart)
    try makeCalls(&session, form, behind: text, tools)
    // What it wanted was given already: without tools it answers.
    if result.calls.isEmpty { try answer(&session, behind: format.prompt(request.messages, tools: []).tokens) }
  }

  /// Lets the model begin, and returns whether it makes a call; if not, its answer is made.
  private mutating func begins(_ session: inout PromptSession, _ form: ToolCallForm) throws -> Bool {
    let mark = session.tokenizer.id(of: form.marker)
    func isMark(_ generation: Generation) -> Bool {
      generation.stopString == form.marker || generation.stopToken != nil && generation.stopToken == mark
    }
    func marking(_ options: inout GenerationOptions) {
      if let mark { options.stopTokens.insert(mark) }
      options.stopStrings.append(form.marker)
    }
    if request.options.format == .text {
      let answer = try generate(&session, prompt.tokens, request.options, isAnswer: true, adapting: marking)
      if isMark(answer.generation) { return true }
      keep(answer)
      return false
    }
    // An answer of another form could not begin a call: the model says a few words freely first, which nobody sees.
    let options = callOptions(.text, session.tokenizer.encode(form.marker, addingSpecialTokens: false).count + 2)
    if isMark(try generate(&session, prompt.tokens, options, isAnswer: false, adapting: marking).generation) { return true }
    try answer(&session)
    return false
  }

  /// Lets the model name tools and their arguments behind what begins a call.
  private mutating func makeCalls(
    _ session: inout PromptSession, _ form: ToolCallForm, behind text: String, _ tools: [OfferedTool]
  ) throws {
    var text = text + form.opening
    while result.calls.count < Self.callLimit {
      var options = callOptions(.choices(tools.map { Self.spelled($0.name) + form.middle }), session.context)
      let named = try generate(&session, format.chat.tokens(ofRendered: text), options, isAnswer: false).generation.text
      guard let tool = tools.first(where: { Self.spelled($0.name) + form.middle == named }) else { return }
      text += named
      options.format = .schema(tool.schema.serialized())
      let arguments = try generate(&session, format.chat.tokens(ofRendered: text), options, isAnswer: false).generation.text
      guard let value = try? JSONValue(parsing: arguments) else { return }
      text += arguments
      let call = ToolCall(id: nextIdentifier(), name: tool.name, arguments: value)
      guard !wasMade(call) else { return }
      result.calls.append(call)
      guard let separator = form.separator, separator != form.closing else { return }
      options.format = .choices([form.closing, separator])
      guard try generate(&session, format.chat.tokens(ofRendered: text), options, isAnswer: false).generation.text == separator else {
        return
      }
      text += separator
    }
  }

  /// The options for a part of a call.
  private func callOptions(_ format: Response.Format, _ maximumTokens: Int) -> Response.Options {
    var options = request.options
    (options.format, options.maximumTokens, options.stopStrings) = (format, maximumTokens, [])
    return options
  }

  /// A name as it stands between quotes.
  private static func spelled(_ name: String) -> String { String(JSONValue.string(name).serialized().dropFirst().dropLast()) }

  // MARK: Calls in words of our own

  private mutating func guidedStep(_ session: inout PromptSession, _ tools: [OfferedTool]) throws {
    func tokens(_ text: String) -> [Int32] { session.tokenizer.encode(text, addingSpecialTokens: false, parsingSpecialTokens: false) }
    let asked = try format.choicePrompt(request.messages, tools)
    if let tool = try choose(&session, tools, asked) {
      let options = callOptions(.schema(tool.schema.serialized()), session.context)
      let arguments = try generate(&session, asked + tokens(GuidedCalls.opening(tool)), options, isAnswer: false).generation.text
      if let value = try? JSONValue(parsing: arguments) {
        let call = ToolCall(id: nextIdentifier(), name: tool.name, arguments: value)
        if !wasMade(call) {
          result.calls = [call]
          return
        }
      }
    }
    try answer(&session)
  }

  /// Returns the tool that the model uses, if any: the one that the message makes more likely than a message that asks for nothing does, by
  /// the largest factor. Small models nearly always say what is likeliest by itself. Where a tool has just given something there is nothing
  /// to compare with, and the likeliest counts.
  private mutating func choose(_ session: inout PromptSession, _ tools: [OfferedTool], _ asked: [Int32]) throws -> OfferedTool? {
    let texts = GuidedCalls.choices(tools)
    guard
      let choices = ChoiceSet(texts.map { session.tokenizer.encode($0, addingSpecialTokens: false, parsingSpecialTokens: false) })
    else { return nil }
    func scores(_ prompt: [Int32]) throws -> [Double] {
      result.counts.read += prompt.count - session.heldTokens(of: prompt)
      let scores = try session.score(choices, behind: prompt) { [listener] in listener.reading($0, prompt.count) }
      guard let scores else { throw DibitError.cancelled }
      return scores
    }
    var before: [Double]?
    if case .user? = request.messages.last {
      before = try scores(format.choicePrompt(request.messages, tools, message: GuidedCalls.neutralMessage))
    }
    var gains = try scores(asked)
    if let before { gains = zip(gains, before).map { $0 - $1 } }
    if request.toolUse == .required { gains.removeLast() }
    let best = gains.indices.max { gains[$0] < gains[$1] }
    return best.flatMap { $0 < tools.count ? tools[$0] : nil }
  }

  // MARK: Calls

  /// True for a call that has been made for this answer: what it gave is known.
  private func wasMade(_ call: ToolCall) -> Bool {
    (request.made + result.calls).contains { $0.name == call.name && $0.arguments == call.arguments }
  }

  /// Nine letters and digits, the same for the same dialogue.
  private mutating func nextIdentifier() -> String {
    calls += 1
    let digits = String(calls, radix: 36)
    return "call" + String(repeating: "0", count: max(0, 5 - digits.count)) + digits
  }
}
