/// The look of a report's page: one style sheet, light and dark, for phones and desks. No font, image or script is loaded.
enum HTMLStyle {
  static let sheet =
    """
    :root{color-scheme:light dark;--page:#fbfbf9;--card:#fff;--ink:#1c2127;--muted:#586270;--line:#e1e4e8;--accent:#1f5fa8;--soft:#cfdff2;--range:#628cc0;--cheap:#818994;
    --bad:#a8480b;--badsoft:#f6dcc9;--good:#1d6b3a}
    @media (prefers-color-scheme:dark){:root{--page:#12151a;--card:#191d23;--ink:#e7e9ec;--muted:#a3acb8;--line:#2c323b;--accent:#86b6f0;
    --soft:#2b466a;--range:#4a6fa5;--cheap:#666f7a;--bad:#f0a36b;--badsoft:#5a3a22;--good:#83d3a0}}
    *{box-sizing:border-box}
    html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
    @media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
    body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",
    "Noto Sans",sans-serif;font-variant-numeric:tabular-nums}
    a{color:var(--accent)}
    .skip{position:absolute;left:-999px}.skip:focus{left:16px;top:8px;background:var(--card);padding:8px 12px;z-index:9}
    header,main,footer{max-width:1080px;margin:0 auto;padding:0 24px}
    header{padding-top:56px}
    .over{color:var(--muted);margin:0 0 12px;overflow-wrap:anywhere}
    h1{font-size:clamp(1.7rem,4.6vw,2.6rem);line-height:1.15;font-weight:650;letter-spacing:-.018em;margin:0 0 16px;text-wrap:balance}
    .better h1{color:var(--good)}.worse h1{color:var(--bad)}
    .verdict{font-size:1.15rem;max-width:46em;margin:0 0 28px;overflow-wrap:anywhere;text-wrap:pretty}
    .facts{display:flex;flex-wrap:wrap;gap:12px 40px;margin:0;padding:18px 0;border-top:1px solid var(--line);border-bottom:1px solid var(--line)}
    .facts div{min-width:70px}.facts dt{color:var(--muted);font-size:.82rem}.facts dd{margin:0;font-size:1.15rem;font-weight:600}
    nav{margin-top:18px;font-size:.9rem;display:flex;flex-wrap:wrap;gap:4px 18px}
    nav a{text-decoration:none;padding:4px 0}nav a:hover{text-decoration:underline}
    section{margin-top:64px}
    h2{font-size:1.35rem;font-weight:650;letter-spacing:-.01em;margin:0 0 4px}
    h3{font-size:1.02rem;font-weight:650;margin:0 0 4px}
    .lead{color:var(--muted);max-width:46em;margin:0 0 20px}
    .scroll{overflow-x:auto;margin:0 -24px;padding:0 24px 6px}.below{margin-bottom:28px}
    table{border-collapse:collapse;width:100%;font-size:.92rem}
    caption{text-align:left;color:var(--muted);padding:0 0 8px;font-size:.88rem}
    th,td{text-align:right;padding:8px 0 8px 18px;border-bottom:1px solid var(--line);white-space:nowrap;font-weight:400}
    thead th,thead td{color:var(--muted);font-size:.82rem;vertical-align:bottom;padding-top:0}
    th:first-child,td:first-child{text-align:left;padding-left:0}
    tbody th{font-weight:500;max-width:20em;overflow:hidden;text-overflow:ellipsis}
    td.left,th.left{text-align:left}
    tr.subject th{font-weight:700}
    small,.kind{color:var(--muted);font-size:.82rem}.kind{display:block;line-height:1.2;font-weight:400}
    .yes{color:var(--good);font-weight:600}.no{color:var(--bad);font-weight:600}
    .track{position:relative;height:18px;min-width:120px;width:100%}
    .track:before{content:"";position:absolute;left:0;right:0;top:8px;height:2px;background:var(--line)}
    .track i{position:absolute;display:block}
    .track .range{top:6px;height:6px;background:var(--range);border-radius:3px}
    .track .dot{top:3px;width:12px;height:12px;margin-left:-6px;border-radius:50%;background:var(--accent)}
    .track .mark{top:0;height:18px;width:1px;background:var(--muted)}
    .cheap .dot{background:var(--muted)}.cheap .range{background:var(--cheap)}
    th.wide,td.wide{width:34%;padding-right:8px}
    .fill{height:10px;min-width:80px;background:var(--line);border-radius:5px;overflow:hidden}
    .fill i{display:block;height:100%;background:var(--accent);border-radius:5px}
    .ends{display:flex;justify-content:space-between;min-width:120px}
    .pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr));gap:36px}
    figure{margin:0}figcaption{color:var(--muted);font-size:.88rem;max-width:34em}
    .chart{display:block;width:100%;max-width:480px;height:auto;margin:8px 0}
    .chart text{fill:var(--muted);font-size:12px}
    .grid{stroke:var(--line);fill:none}.axis{stroke:var(--muted);fill:none}
    .s0,.s1,.s2,.s3,.ideal{fill:none;stroke-width:2.2;stroke-linejoin:round}
    .s0{stroke:var(--accent)}.s1{stroke:var(--bad)}.s2{stroke:var(--muted)}.s3{stroke:var(--muted);stroke-dasharray:2 4}
    .ideal{stroke:var(--muted);stroke-width:1.2;stroke-dasharray:5 4}
    circle.s0{fill:var(--accent);stroke:none}circle.s1{fill:var(--bad);stroke:none}
    circle.s2,circle.s3{fill:var(--muted);stroke:none}
    rect.a{fill:var(--soft);stroke:var(--accent)}rect.hit{fill:var(--accent)}rect.miss{fill:var(--bad)}
    .key{list-style:none;margin:4px 0 0;padding:0;display:flex;flex-wrap:wrap;gap:4px 20px;font-size:.88rem}
    .key svg{width:24px;height:10px;vertical-align:middle;margin-right:6px}
    .matrix{border-collapse:separate;border-spacing:2px;width:auto;font-size:.82rem}
    .matrix th,.matrix td{border:0;padding:0}
    .matrix td{min-width:30px;height:28px;text-align:center;border-radius:3px;color:var(--muted)}
    .matrix td:first-child{text-align:center}
    .matrix tbody th{position:sticky;left:0;background:var(--page);text-align:right;padding:0 10px 0 0;max-width:18em;font-weight:400}
    .matrix thead th{vertical-align:bottom;height:auto;padding-bottom:6px;text-align:center;color:var(--ink)}
    .matrix thead th:first-child{text-align:right;padding-right:10px;color:var(--muted);position:sticky;left:0;background:var(--page)}
    .matrix thead span{writing-mode:vertical-rl;transform:rotate(180deg);max-height:11em;overflow:hidden;text-overflow:ellipsis}
    .map{display:block}.map text{fill:var(--ink);font-size:9.5px}
    .note{border-left:3px solid var(--bad);padding:2px 0 2px 14px;margin:0 0 12px;max-width:46em}
    .plain{border-color:var(--line)}header .note{margin:-8px 0 28px}
    article{border-top:1px solid var(--line);padding:16px 0}
    article p{margin:0 0 8px;overflow-wrap:anywhere}
    blockquote{margin:0;padding:10px 14px;background:var(--card);border:1px solid var(--line);border-radius:6px;white-space:pre-wrap;
    overflow-wrap:anywhere;max-height:11.5em;overflow:auto;font-size:.92rem}
    pre,code{font:.86rem/1.5 ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
    pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--card);border:1px solid var(--line);border-radius:6px;padding:12px 14px;
    margin:0 0 16px;user-select:all}
    .digests{display:grid;grid-template-columns:max-content 1fr;gap:4px 20px;margin:0;font-size:.92rem}
    .digests dt{color:var(--muted);max-width:16em;overflow-wrap:anywhere}.digests dd{margin:0;overflow-wrap:anywhere}
    .read dt{font-weight:600;margin-top:14px}.read dd{margin:0;color:var(--muted);max-width:46em}
    details{border-top:1px solid var(--line)}details:last-of-type{border-bottom:1px solid var(--line)}
    summary{cursor:pointer;padding:12px 0;font-weight:600;overflow-wrap:anywhere}
    details>div{padding:8px 0 32px}details>div>*+*{margin-top:36px}details>div>article+article{margin-top:0}
    footer{margin-top:72px;padding-bottom:56px;color:var(--muted);font-size:.88rem}
    :focus-visible{outline:2px solid var(--accent);outline-offset:2px}
    @media (max-width:640px){header,main,footer{padding-left:16px;padding-right:16px}header{padding-top:32px}
    .scroll{margin-left:-16px;margin-right:-16px;padding:0 16px 6px}section{margin-top:48px}.less{display:none}th,td{padding-left:10px}
    table{font-size:.88rem}tbody th{min-width:8.5em;max-width:10em;white-space:normal;overflow-wrap:anywhere}.track,.ends{min-width:76px}th.wide,td.wide{width:22%}.ends span:nth-child(2){display:none}.digests{grid-template-columns:1fr}.digests dd{margin-bottom:8px}
    .matrix tbody th{min-width:0;max-width:10em;white-space:nowrap;font-size:.75rem}}
    @media print{nav,.skip{display:none}section{break-inside:avoid}blockquote{max-height:none}}

    """ + heat

  /// Ten steps of colour for right answers (`d1`…) and mistakes (`e1`…), with the text colour that stands out better.
  private static var heat: String {
    let light = (page: (251.0, 251.0, 249.0), right: (31.0, 95.0, 168.0), wrong: (168.0, 72.0, 11.0))
    let dark = (page: (18.0, 21.0, 26.0), right: (134.0, 182.0, 240.0), wrong: (240.0, 163.0, 107.0))
    func rules(_ theme: (page: (Double, Double, Double), right: (Double, Double, Double), wrong: (Double, Double, Double))) -> String {
      (1...10).map { level in
        rule("d\(level)", theme.page, theme.right, Double(level)) + rule("e\(level)", theme.page, theme.wrong, Double(level))
      }.joined()
    }
    return rules(light) + "@media (prefers-color-scheme:dark){" + rules(dark) + "}"
  }

  private static func rule(_ name: String, _ from: (Double, Double, Double), _ to: (Double, Double, Double), _ level: Double) -> String {
    let part = 0.1 + 0.09 * level
    let color = [(from.0, to.0), (from.1, to.1), (from.2, to.2)].map { ($0 + ($1 - $0) * part).rounded() }
    let hex = color.map { value in
      let digits = String(Int(value), radix: 16)
      return digits.count < 2 ? "0" + digits : digits
    }.joined()
    // Of black and white one always has a contrast of at least √21 = 4.58 with any colour.
    let text = luminance(color) > 0.179 ? "#000" : "#fff"
    return ".matrix td.\(name){background:#\(hex);color:\(text)}.map .\(name){fill:#\(hex)}"
  }

  /// Relative luminance (WCAG 2).
  static func luminance(_ color: [Double]) -> Double {
    let linear = color.map { value -> Double in
      let share = value / 255
      guard share > 0.04045 else { return share / 12.92 }
      // ((s + 0.055) / 1.055)^2.4 as x² · x^0.4, with x^0.4 by Newton's method on y^5 = x²: no library of functions is needed here.
      let x = (share + 0.055) / 1.055
      var y = 1.0
      for _ in 0..<20 { y -= (y * y * y * y * y - x * x) / (5 * y * y * y * y) }
      return x * x * y
    }
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
  }
}
