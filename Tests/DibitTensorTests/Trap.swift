import Testing

/// Expects that `body` stops its process with exactly this message, which must survive optimisation.
func expectTrap(_ message: String, sourceLocation: SourceLocation = #_sourceLocation, _ result: ExitTest.Result?) {
  let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  #expect(text.contains("Fatal error: \(message)\n"), sourceLocation: sourceLocation)
}
