/// The frame of a page for a browser: no network, no scripts, light and dark, for phones, desks, printers and screen readers.
///
/// The page forbids scripts and everything from elsewhere by its content security policy.
struct HTMLPage {
  /// The command that makes the page.
  let command: String
  let title: String
  /// The class of the body.
  var style = ""
  /// The top of the page, below its title.
  let header: String
  let sections: [(id: String, title: String, body: String)]

  /// The mark that tells the pages of a command from others.
  static func generator(_ command: String) -> String { "<meta name=\"generator\" content=\"dibit \(command)\">" }

  /// Styles are the page's own; everything else is forbidden.
  private static let policy = [
    "script-src", "img-src", "font-src", "connect-src", "media-src", "object-src", "frame-src", "worker-src", "manifest-src", "base-uri",
    "form-action",
  ].map { $0 + " 'none'" }.joined(separator: "; ")

  var html: String {
    let first = sections.first
    var page = """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width,initial-scale=1">
      <meta http-equiv="Content-Security-Policy" content="\(Self.policy)">
      <meta name="referrer" content="no-referrer">
      \(Self.generator(command))
      <title>\(title.html)</title>
      <style>
      \(HTMLStyle.sheet)
      </style>
      </head>
      <body class="\(style)">
      <a class="skip" href="#\(first?.id ?? "")">Skip to the \(first?.title.lowercased() ?? "end")</a>
      <header>
      <p class="over">\(title.html)</p>
      \(header)
      <nav aria-label="Sections">
      """
    for section in sections { page += "<a href=\"#\(section.id)\">\(section.title)</a>" }
    page += "</nav>\n</header>\n<main>\n"
    for section in sections {
      page += "<section id=\"\(section.id)\" aria-labelledby=\"\(section.id)-h\"><h2 id=\"\(section.id)-h\">\(section.title)</h2>\n"
      page += section.body + "</section>\n"
    }
    return page
      + "</main>\n<footer>Made by <code>dibit \(command)</code>. The page holds all it shows and loads nothing.</footer>\n</body>\n</html>\n"
  }
}
