#if FoundationModelsMacros
  /// Swift source that is written line by line, each at the depth of the block it is in.
  ///
  /// A line may span several: what is spliced from the client's source keeps its own indentation, on which a string literal of several
  /// lines depends.
  struct SourceText {
    /// The text so far.
    private(set) var text = ""
    private var depth = 0

    /// Adds a line.
    mutating func line(_ content: String) {
      if !text.isEmpty { text += "\n" }
      text += String(repeating: "  ", count: depth) + content
    }

    /// Adds lines that are one level deeper.
    mutating func indented(_ body: (inout SourceText) -> Void) {
      depth += 1
      body(&self)
      depth -= 1
    }

    /// Adds a block in braces, on one line where it is empty.
    mutating func block(_ head: String, _ body: (inout SourceText) -> Void) {
      let inner = SourceText.of(body)
      guard !inner.isEmpty else { return line(head + " {}") }
      line(head + " {")
      indented(body)
      line("}")
    }

    /// Adds a call with its arguments: one argument stays on the line of the callee, several get lines of their own.
    ///
    /// - Parameters:
    ///   - callee: The text before the parenthesis.
    ///   - arguments: The arguments with their labels.
    mutating func call(_ callee: String, _ arguments: [String]) {
      guard arguments.count > 1 else { return line("\(callee)(\(arguments.joined()))") }
      line(callee + "(")
      indented { text in
        for (index, argument) in arguments.enumerated() { text.line(argument + (index == arguments.count - 1 ? "" : ",")) }
      }
      line(")")
    }

    /// Adds what each element gives, under the conditions that the element is declared under.
    mutating func each<Element>(_ members: [Conditional<Element>], _ body: (inout SourceText, Element) -> Void) {
      for member in members {
        switch member {
        case .element(let element): body(&self, element)
        case .directive(let clauses):
          for clause in clauses {
            line(clause.header)
            each(clause.members, body)
          }
          line("#endif")
        }
      }
    }

    /// The text that a body writes.
    static func of(_ body: (inout SourceText) -> Void) -> String {
      var text = SourceText()
      body(&text)
      return text.text
    }
  }

  extension String {
    /// This text as a string literal.
    var literal: String {
      var text = "\""
      for character in self {
        switch character {
        case "\"": text += "\\\""
        case "\\": text += "\\\\"
        case "\n": text += "\\n"
        default: text.append(character)
        }
      }
      return text + "\""
    }
  }
#endif
