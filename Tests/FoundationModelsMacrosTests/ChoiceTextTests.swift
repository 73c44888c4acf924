#if FoundationModelsMacros
  import Testing

  /// The whole text of the expansions of enumerations without associated values.
  @Suite struct ChoiceTextTests {
    @Test func namesOfCases() {
      let expanded = Expanded(
        #"""
        @Generable(description: "A direction")
        enum Direction {
          case north, south
          case `default`
        }
        """#)
      #expect(expanded.errors.isEmpty)
      #expect(
        expanded.text
          == #"""

          enum Direction {
            case north, south
            case `default`

            nonisolated static var generationSchema: FoundationModels.GenerationSchema {
              FoundationModels.GenerationSchema(
                type: Self.self,
                description: "A direction",
                anyOf: ["north", "south", "default"]
              )
            }

            nonisolated var generatedContent: FoundationModels.GeneratedContent {
              switch self {
              case .north: return FoundationModels.GeneratedContent("north")
              case .south: return FoundationModels.GeneratedContent("south")
              case .`default`: return FoundationModels.GeneratedContent("default")
              }
            }
          }

          extension Direction: nonisolated FoundationModels.Generable {
            nonisolated init(_ content: FoundationModels.GeneratedContent) throws {
              let string = try content.value(Swift.String.self)
              switch string {
              case "north": self = .north
              case "south": self = .south
              case "default": self = .`default`
              default:
                throw FoundationModels.GeneratedContent.ParsingError(
                  rawContent: content.jsonString,
                  underlyingError: nil,
                  debugDescription: "Unexpected value \"\(string)\" for Direction"
                )
              }
            }
          }
          """#)
    }

    @Test func rawValues() {
      let expanded = Expanded(
        #"""
        @Generable
        package enum Priority: String, CaseIterable {
          case low = "low-priority"
          case high
        }
        """#)
      #expect(expanded.errors.isEmpty)
      #expect(
        expanded.text
          == #"""

          package enum Priority: String, CaseIterable {
            case low = "low-priority"
            case high

            nonisolated package static var generationSchema: FoundationModels.GenerationSchema {
              FoundationModels.GenerationSchema(
                type: Self.self,
                anyOf: ["low-priority", "high"]
              )
            }

            nonisolated package var generatedContent: FoundationModels.GeneratedContent {
              FoundationModels.GeneratedContent(self.rawValue)
            }
          }

          extension Priority: nonisolated FoundationModels.Generable {
            nonisolated package init(_ content: FoundationModels.GeneratedContent) throws {
              let string = try content.value(Swift.String.self)
              guard let value = Self(rawValue: string) else {
                throw FoundationModels.GeneratedContent.ParsingError(
                  rawContent: content.jsonString,
                  underlyingError: nil,
                  debugDescription: "Unexpected value \"\(string)\" for Priority"
                )
              }
              self = value
            }
          }
          """#)
    }

    @Test func conditionsAreRepeated() {
      let expanded = Expanded(
        #"""
        @Generable
        enum System {
          #if os(Linux)
          case linux
          #endif
          case other
        }
        """#)
      #expect(expanded.errors.isEmpty)
      #expect(
        expanded.text
          == #"""

          enum System {
            #if os(Linux)
            case linux
            #endif
            case other

            nonisolated static var generationSchema: FoundationModels.GenerationSchema {
              var choices: [Swift.String] = []
              choices.reserveCapacity(2)
              #if os(Linux)
              choices.append("linux")
              #endif
              choices.append("other")
              return FoundationModels.GenerationSchema(type: Self.self, anyOf: choices)
            }

            nonisolated var generatedContent: FoundationModels.GeneratedContent {
              switch self {
              #if os(Linux)
              case .linux: return FoundationModels.GeneratedContent("linux")
              #endif
              case .other: return FoundationModels.GeneratedContent("other")
              }
            }
          }

          extension System: nonisolated FoundationModels.Generable {
            nonisolated init(_ content: FoundationModels.GeneratedContent) throws {
              let string = try content.value(Swift.String.self)
              switch string {
              #if os(Linux)
              case "linux": self = .linux
              #endif
              case "other": self = .other
              default:
                throw FoundationModels.GeneratedContent.ParsingError(
                  rawContent: content.jsonString,
                  underlyingError: nil,
                  debugDescription: "Unexpected value \"\(string)\" for System"
                )
              }
            }
          }
          """#)
    }
  }
#endif
