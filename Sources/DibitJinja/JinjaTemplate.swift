package import DibitJSON

/// A template in the subset of Jinja that published chat templates use, rendered as Hugging Face's transformers renders it: with
/// `trim_blocks`, `lstrip_blocks`, the loop controls, `generation` blocks and a sandbox in which nothing can be changed.
///
/// Any text gives a template or a ``JinjaError``, and any rendering ends: depth, work and memory are bounded by ``JinjaLimits``.
package struct JinjaTemplate: Sendable {
  /// The most bytes that a template may have.
  package static let sizeLimit = 1 << 20

  let source: [Unicode.Scalar]
  let statements: [Statement]
  let scopes: [Scope]

  /// Parses a template.
  package init(parsing template: String) throws(JinjaError) {
    guard template.utf8.count <= Self.sizeLimit else {
      throw .limit(at: JinjaPosition(line: 1, column: 1), .templateBytes, maximum: Self.sizeLimit)
    }
    var parser = try JinjaParser(template)
    statements = try parser.template()
    source = parser.source
    scopes = ScopeAnalysis(statements, scopeCount: parser.scopeCount).scopes
  }

  /// The text that the template writes.
  ///
  /// - Parameters:
  ///   - context: The names that the template can read; of two with the same name the last counts.
  ///   - clock: What `strftime_now` tells; without it, a template that asks for the date cannot be rendered.
  ///   - limits: What rendering may use.
  package func render(_ context: [(String, JSONValue)], clock: JinjaClock? = nil, limits: JinjaLimits = JinjaLimits()) throws(JinjaError)
    -> String
  {
    try Renderer(self, context: context, limits: limits, clock: clock).run()
  }
}
