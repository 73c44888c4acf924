#if FoundationModelsMacros
  import FoundationModels
  import Testing

  @Generable(description: "A plan for a day")
  struct DayPlan: Equatable {
    @Guide(description: "A word", .anyOf(["rest", "work"]))
    var mood: String
    @Guide(.range(1...12))
    var hours: Int
    @Guide(.count(2))
    var steps: [Step]
    var note: String?

    @Generable
    struct Step: Equatable {
      @Guide(description: "The name of the step", /[a-z]{2,6}/)
      var name: String
      var kind: Kind
    }

    @Generable
    enum Kind: String { case outside, inside }
  }

  @Generable
  indirect enum Shape: Equatable {
    case circle(radius: Double)
    case box(width: Int, height: Int)
    case group([Shape])
  }

  /// An object that sessions must not share.
  final class Basket { var goods: [String] = [] }

  extension SessionPropertyValues {
    @SessionPropertyEntry var meal: String = "soup"
    @SessionPropertyEntry var guests = 3
    @SessionPropertyEntry var host: String?
    @SessionPropertyEntry var basket = Basket()
  }

  /// A client's types, through the macros.
  @Suite struct MacroClientTests {
    @Test("a macro's type is generated within its guides, and streamed in the order of its declaration")
    func generates() async throws {
      let test = try TestModel()
      let stream = LanguageModelSession(model: test.model).streamResponse(to: "a plan", generating: DayPlan.self)
      var keys: [String] = []
      for try await snapshot in stream {
        if case .structure(_, let ordered) = snapshot.rawContent.kind { keys = ordered }
        if snapshot.content.hours != nil { #expect(snapshot.content.mood != nil) }
      }
      let plan = try await stream.collect().content
      #expect(keys.prefix(3) == ["mood", "hours", "steps"] && ["rest", "work"].contains(plan.mood) && (1...12).contains(plan.hours))
      #expect(plan.steps.count == 2 && plan.steps.allSatisfy { $0.name.wholeMatch(of: /[a-z]{2,6}/) != nil })
      #expect(try DayPlan(plan.generatedContent) == plan)
    }

    @Test("a recursive type with payloads is generated whole")
    func unions() async throws {
      let test = try TestModel(context: 4096)
      for seed in 0..<4 {
        let options = GenerationOptions(sampling: .random(top: 60, seed: UInt64(seed)), maximumResponseTokens: 400)
        let shape = try await LanguageModelSession(model: test.model).respond(to: "a shape", generating: Shape.self, options: options)
          .content
        #expect(try Shape(shape.generatedContent) == shape)
      }
    }

    @Test("a value with ten numbers of the client survives the way through JSON")
    func roundTrip() throws {
      let shape = Shape.group([.circle(radius: 1.5), .box(width: 2, height: 3), .group([])])
      #expect(try Shape(GeneratedContent(json: shape.generatedContent.jsonString)) == shape)
      #expect(throws: (any Error).self) { try Shape(GeneratedContent(json: #"{"type": "line"}"#)) }
    }

    @Test("a macro's properties are kept for each session")
    func properties() async throws {
      struct Cooking: DynamicInstructions {
        @SessionProperty(\.meal) var meal
        @SessionProperty(\.guests) var guests
        @SessionProperty(\.host) var host
        var body: some DynamicInstructions { Instructions("\(meal) for \(guests) and \(host ?? "nobody")") }
      }
      let model = ScriptedModel.echo()
      let session = LanguageModelSession(model: model, dynamicInstructions: Cooking())
      _ = try await session.respond(to: "x")
      (session.properties.guests, session.properties.host) = (4, "Ada")
      _ = try await session.respond(to: "x")
      #expect(model.log.requests.map(\.instructions) == ["soup for 3 and nobody", "soup for 4 and Ada"])
      let other = LanguageModelSession(model: model)
      session.properties.basket.goods.append("leek")
      #expect(other.properties.guests == 3 && other.properties.basket.goods.isEmpty && session.properties.basket.goods == ["leek"])
    }
  }
#endif
