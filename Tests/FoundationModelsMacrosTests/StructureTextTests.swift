#if FoundationModelsMacros
  import Testing

  /// The whole text of the expansions of structures.
  @Suite struct StructureTextTests {
    @Test func aStructure() {
      let expanded = Expanded(
        #"""
        @Generable(description: "A river")
        public struct River {
          @Guide(description: "Its name")
          public var name: String
          @Guide(.minimum(1)) @Guide(description: "km")
          public let length: Int
          public var sea: String?
        }
        """#)
      #expect(expanded.errors.isEmpty)
      #expect(
        expanded.text
          == #"""

          public struct River {
            public var name: String

            public let length: Int
            public var sea: String?

            nonisolated public static var generationSchema: FoundationModels.GenerationSchema {
              FoundationModels.GenerationSchema(
                type: Self.self,
                description: "A river",
                properties: [
                  FoundationModels.GenerationSchema.Property(name: "name", description: "Its name", type: String.self),
                  FoundationModels.GenerationSchema.Property(name: "length", description: "km", type: Int.self, guides: [.minimum(1)]),
                  FoundationModels.GenerationSchema.Property(name: "sea", type: String?.self),
                ]
              )
            }

            nonisolated public var generatedContent: FoundationModels.GeneratedContent {
              var properties: [(Swift.String, any FoundationModels.ConvertibleToGeneratedContent)] = []
              func append(_ name: Swift.String, _ value: some FoundationModels.Generable) {
                properties.append((name, value))
              }
              func append(_ name: Swift.String, _ value: (some FoundationModels.Generable)?) {
                if let value { properties.append((name, value)) }
              }
              append("name", self.name)
              append("length", self.length)
              append("sea", self.sea)
              return FoundationModels.GeneratedContent(properties: properties, uniquingKeysWith: { _, second in second })
            }

            nonisolated public struct PartiallyGenerated: Swift.Identifiable, nonisolated FoundationModels.ConvertibleFromGeneratedContent {
              public var id: FoundationModels.GenerationID
              public var name: String.PartiallyGenerated?
              public var length: Int.PartiallyGenerated?
              public var sea: String.PartiallyGenerated?
              nonisolated public init(_ content: FoundationModels.GeneratedContent) throws {
                self.id = content.id ?? FoundationModels.GenerationID()
                self.name = try content.value(forProperty: "name")
                self.length = try content.value(forProperty: "length")
                self.sea = try content.value(forProperty: "sea")
              }
            }
          }

          extension River: nonisolated FoundationModels.Generable {
            nonisolated public init(_ content: FoundationModels.GeneratedContent) throws {
              self.name = try content.value(forProperty: "name")
              self.length = try content.value(forProperty: "length")
              self.sea = try content.value(forProperty: "sea")
            }
          }
          """#)
    }

    @Test func conditionsAreRepeated() {
      let expanded = Expanded(
        #"""
        @Generable
        struct River {
          #if os(Linux)
          var name: String
          #elseif DEBUG
          @Guide(.minimum(1)) var length: Int
          #else
          #endif
          var sea: String?
        }
        """#)
      #expect(expanded.errors.isEmpty)
      #expect(
        expanded.text
          == #"""

          struct River {
            #if os(Linux)
            var name: String
            #elseif DEBUG
            var length: Int
            #else
            #endif
            var sea: String?

            nonisolated static var generationSchema: FoundationModels.GenerationSchema {
              var properties: [FoundationModels.GenerationSchema.Property] = []
              properties.reserveCapacity(3)
              #if os(Linux)
              properties.append(FoundationModels.GenerationSchema.Property(name: "name", type: String.self))
              #elseif DEBUG
              properties.append(FoundationModels.GenerationSchema.Property(name: "length", type: Int.self, guides: [.minimum(1)]))
              #else
              #endif
              properties.append(FoundationModels.GenerationSchema.Property(name: "sea", type: String?.self))
              return FoundationModels.GenerationSchema(type: Self.self, properties: properties)
            }

            nonisolated var generatedContent: FoundationModels.GeneratedContent {
              var properties: [(Swift.String, any FoundationModels.ConvertibleToGeneratedContent)] = []
              func append(_ name: Swift.String, _ value: some FoundationModels.Generable) {
                properties.append((name, value))
              }
              func append(_ name: Swift.String, _ value: (some FoundationModels.Generable)?) {
                if let value { properties.append((name, value)) }
              }
              #if os(Linux)
              append("name", self.name)
              #elseif DEBUG
              append("length", self.length)
              #else
              #endif
              append("sea", self.sea)
              return FoundationModels.GeneratedContent(properties: properties, uniquingKeysWith: { _, second in second })
            }

            nonisolated struct PartiallyGenerated: Swift.Identifiable, nonisolated FoundationModels.ConvertibleFromGeneratedContent {
              var id: FoundationModels.GenerationID
              #if os(Linux)
              var name: String.PartiallyGenerated?
              #elseif DEBUG
              var length: Int.PartiallyGenerated?
              #else
              #endif
              var sea: String.PartiallyGenerated?
              nonisolated init(_ content: FoundationModels.GeneratedContent) throws {
                self.id = content.id ?? FoundationModels.GenerationID()
                #if os(Linux)
                self.name = try content.value(forProperty: "name")
                #elseif DEBUG
                self.length = try content.value(forProperty: "length")
                #else
                #endif
                self.sea = try content.value(forProperty: "sea")
              }
            }
          }

          extension River: nonisolated FoundationModels.Generable {
            nonisolated init(_ content: FoundationModels.GeneratedContent) throws {
              #if os(Linux)
              self.name = try content.value(forProperty: "name")
              #elseif DEBUG
              self.length = try content.value(forProperty: "length")
              #else
              #endif
              self.sea = try content.value(forProperty: "sea")
            }
          }
          """#)
    }

    @Test func aStructureWithoutProperties() {
      let expanded = Expanded(
        #"""
        @Generable
        struct Nothing {}
        """#)
      #expect(expanded.errors.isEmpty)
      #expect(
        expanded.text
          == #"""

          struct Nothing {

            nonisolated static var generationSchema: FoundationModels.GenerationSchema {
              FoundationModels.GenerationSchema(
                type: Self.self,
                properties: []
              )
            }

            nonisolated var generatedContent: FoundationModels.GeneratedContent {
              FoundationModels.GeneratedContent(properties: [:])
            }

            nonisolated struct PartiallyGenerated: Swift.Identifiable, nonisolated FoundationModels.ConvertibleFromGeneratedContent {
              var id: FoundationModels.GenerationID
              nonisolated init(_ content: FoundationModels.GeneratedContent) throws {
                self.id = content.id ?? FoundationModels.GenerationID()
              }
            }
          }

          extension Nothing: nonisolated FoundationModels.Generable {
            nonisolated init(_ content: FoundationModels.GeneratedContent) throws {}
          }
          """#)
    }
  }
#endif
