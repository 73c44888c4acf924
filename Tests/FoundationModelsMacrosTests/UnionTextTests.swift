#if FoundationModelsMacros
  import Testing

  /// The whole text of the expansions of enumerations with associated values.
  @Suite struct UnionTextTests {
    @Test func labelsAndValues() {
      let expanded = Expanded(
        #"""
        @Generable(description: "A shape")
        enum Shape {
          case point
          case circle(radius: Double?)
          case polygon([Point], closed: Bool)
        }
        """#)
      #expect(expanded.errors.isEmpty)
      #expect(
        expanded.text
          == #"""

          enum Shape {
            case point
            case circle(radius: Double?)
            case polygon([Point], closed: Bool)

            nonisolated static var generationSchema: FoundationModels.GenerationSchema {
              FoundationModels.GenerationSchema(
                type: Self.self,
                description: "A shape",
                anyOf: [DiscriminatedPoint.self, DiscriminatedCircle.self, DiscriminatedPolygon.self]
              )
            }

            nonisolated var generatedContent: FoundationModels.GeneratedContent {
              switch self {
              case .point:
                return FoundationModels.GeneratedContent(properties: ["type": "point"])
              case .circle(let radius):
                return FoundationModels.GeneratedContent(properties: ["type": "circle", "radius": radius])
              case .polygon(let value, let closed):
                return FoundationModels.GeneratedContent(properties: ["type": "polygon", "value": value, "closed": closed])
              }
            }

            nonisolated private struct DiscriminatedPoint: nonisolated FoundationModels.Generable {
              static var generationSchema: FoundationModels.GenerationSchema {
                FoundationModels.GenerationSchema(
                  type: Self.self,
                  description: "A shape",
                  properties: [
                    FoundationModels.GenerationSchema.Property(name: "type", type: Swift.String.self, guides: [.constant("point")]),
                  ]
                )
              }
              var generatedContent: FoundationModels.GeneratedContent {
                FoundationModels.GeneratedContent(properties: ["type": "point"])
              }
              init(_ content: FoundationModels.GeneratedContent) throws {}
            }

            nonisolated private struct DiscriminatedCircle: nonisolated FoundationModels.Generable {
              let radius: Double?
              static var generationSchema: FoundationModels.GenerationSchema {
                FoundationModels.GenerationSchema(
                  type: Self.self,
                  description: "A shape",
                  properties: [
                    FoundationModels.GenerationSchema.Property(name: "type", type: Swift.String.self, guides: [.constant("circle")]),
                    FoundationModels.GenerationSchema.Property(name: "radius", type: Double?.self),
                  ]
                )
              }
              var generatedContent: FoundationModels.GeneratedContent {
                FoundationModels.GeneratedContent(properties: ["type": "circle", "radius": self.radius])
              }
              init(_ content: FoundationModels.GeneratedContent) throws {
                self.radius = try content.value(forProperty: "radius")
              }
            }

            nonisolated private struct DiscriminatedPolygon: nonisolated FoundationModels.Generable {
              let value: [Point]
              let closed: Bool
              static var generationSchema: FoundationModels.GenerationSchema {
                FoundationModels.GenerationSchema(
                  type: Self.self,
                  description: "A shape",
                  properties: [
                    FoundationModels.GenerationSchema.Property(name: "type", type: Swift.String.self, guides: [.constant("polygon")]),
                    FoundationModels.GenerationSchema.Property(name: "value", type: [Point].self),
                    FoundationModels.GenerationSchema.Property(name: "closed", type: Bool.self),
                  ]
                )
              }
              var generatedContent: FoundationModels.GeneratedContent {
                FoundationModels.GeneratedContent(properties: ["type": "polygon", "value": self.value, "closed": self.closed])
              }
              init(_ content: FoundationModels.GeneratedContent) throws {
                self.value = try content.value(forProperty: "value")
                self.closed = try content.value(forProperty: "closed")
              }
            }

            nonisolated enum PartiallyGenerated: nonisolated FoundationModels.ConvertibleFromGeneratedContent {
              case point
              case circle(radius: Double.PartiallyGenerated?)
              case polygon([Point].PartiallyGenerated?, closed: Bool.PartiallyGenerated?)
              nonisolated init(_ content: FoundationModels.GeneratedContent) throws {
                let type = try content.value(Swift.String.self, forProperty: "type")
                switch type {
                case "point": self = .point
                case "circle": self = try .circle(radius: content.value(forProperty: "radius"))
                case "polygon": self = try .polygon(content.value(forProperty: "value"), closed: content.value(forProperty: "closed"))
                default:
                  throw FoundationModels.GeneratedContent.ParsingError(
                    rawContent: content.jsonString,
                    underlyingError: nil,
                    debugDescription: "Unexpected type \"\(type)\" for Shape"
                  )
                }
              }
            }
          }

          extension Shape: nonisolated FoundationModels.Generable {
            nonisolated init(_ content: FoundationModels.GeneratedContent) throws {
              let type = try content.value(Swift.String.self, forProperty: "type")
              switch type {
              case "point": self = .point
              case "circle": self = try .circle(radius: content.value(forProperty: "radius"))
              case "polygon": self = try .polygon(content.value(forProperty: "value"), closed: content.value(forProperty: "closed"))
              default:
                throw FoundationModels.GeneratedContent.ParsingError(
                  rawContent: content.jsonString,
                  underlyingError: nil,
                  debugDescription: "Unexpected type \"\(type)\" for Shape"
                )
              }
            }
          }
          """#)
    }

    @Test func conditionsAreRepeated() {
      let expanded = Expanded(
        #"""
        @Generable
        public enum System {
          #if os(Linux)
          case linux(String)
          #else
          case other
          #endif
        }
        """#)
      #expect(expanded.errors.isEmpty)
      #expect(
        expanded.text
          == #"""

          public enum System {
            #if os(Linux)
            case linux(String)
            #else
            case other
            #endif

            nonisolated public static var generationSchema: FoundationModels.GenerationSchema {
              var types: [any FoundationModels.Generable.Type] = []
              types.reserveCapacity(2)
              #if os(Linux)
              types.append(DiscriminatedLinux.self)
              #else
              types.append(DiscriminatedOther.self)
              #endif
              return FoundationModels.GenerationSchema(type: Self.self, anyOf: types)
            }

            nonisolated public var generatedContent: FoundationModels.GeneratedContent {
              switch self {
              #if os(Linux)
              case .linux(let value):
                return FoundationModels.GeneratedContent(properties: ["type": "linux", "value": value])
              #else
              case .other:
                return FoundationModels.GeneratedContent(properties: ["type": "other"])
              #endif
              }
            }

            #if os(Linux)
            nonisolated private struct DiscriminatedLinux: nonisolated FoundationModels.Generable {
              let value: String
              static var generationSchema: FoundationModels.GenerationSchema {
                FoundationModels.GenerationSchema(
                  type: Self.self,
                  properties: [
                    FoundationModels.GenerationSchema.Property(name: "type", type: Swift.String.self, guides: [.constant("linux")]),
                    FoundationModels.GenerationSchema.Property(name: "value", type: String.self),
                  ]
                )
              }
              var generatedContent: FoundationModels.GeneratedContent {
                FoundationModels.GeneratedContent(properties: ["type": "linux", "value": self.value])
              }
              init(_ content: FoundationModels.GeneratedContent) throws {
                self.value = try content.value(forProperty: "value")
              }
            }
            #else
            nonisolated private struct DiscriminatedOther: nonisolated FoundationModels.Generable {
              static var generationSchema: FoundationModels.GenerationSchema {
                FoundationModels.GenerationSchema(
                  type: Self.self,
                  properties: [
                    FoundationModels.GenerationSchema.Property(name: "type", type: Swift.String.self, guides: [.constant("other")]),
                  ]
                )
              }
              var generatedContent: FoundationModels.GeneratedContent {
                FoundationModels.GeneratedContent(properties: ["type": "other"])
              }
              init(_ content: FoundationModels.GeneratedContent) throws {}
            }
            #endif

            nonisolated public enum PartiallyGenerated: nonisolated FoundationModels.ConvertibleFromGeneratedContent {
              #if os(Linux)
              case linux(String.PartiallyGenerated?)
              #else
              case other
              #endif
              nonisolated public init(_ content: FoundationModels.GeneratedContent) throws {
                let type = try content.value(Swift.String.self, forProperty: "type")
                switch type {
                #if os(Linux)
                case "linux": self = try .linux(content.value(forProperty: "value"))
                #else
                case "other": self = .other
                #endif
                default:
                  throw FoundationModels.GeneratedContent.ParsingError(
                    rawContent: content.jsonString,
                    underlyingError: nil,
                    debugDescription: "Unexpected type \"\(type)\" for System"
                  )
                }
              }
            }
          }

          extension System: nonisolated FoundationModels.Generable {
            nonisolated public init(_ content: FoundationModels.GeneratedContent) throws {
              let type = try content.value(Swift.String.self, forProperty: "type")
              switch type {
              #if os(Linux)
              case "linux": self = try .linux(content.value(forProperty: "value"))
              #else
              case "other": self = .other
              #endif
              default:
                throw FoundationModels.GeneratedContent.ParsingError(
                  rawContent: content.jsonString,
                  underlyingError: nil,
                  debugDescription: "Unexpected type \"\(type)\" for System"
                )
              }
            }
          }
          """#)
    }
  }
#endif
