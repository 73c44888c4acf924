// Numbers as people read them. No locale: the same report gives the same text everywhere.

/// A number with a fixed count of decimals.
package func fixed(_ value: Double, _ places: Int) -> String {
  guard value.isFinite else { return value.isNaN ? "-" : value > 0 ? "∞" : "-∞" }
  let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
  guard abs(value) * scale < 1e15 else { return "\(value)" }
  let scaled = Int((abs(value) * scale).rounded())
  let sign = value < 0 && scaled > 0 ? "-" : ""
  guard places > 0 else { return sign + String(scaled) }
  let digits = String(scaled % Int(scale))
  return sign + "\(scaled / Int(scale))." + String(repeating: "0", count: places - digits.count) + digits
}

/// A share as "84.3 %".
func percent(_ share: Double, _ places: Int = 1) -> String { fixed(100 * share, places) + " %" }

/// A difference of shares in percentage points, with its sign: "+7.1".
func points(_ difference: Double) -> String {
  let text = fixed(100 * difference, 1)
  return text.hasPrefix("-") || text == "0.0" || text == "-" || text.hasPrefix("∞") ? text : "+" + text
}

/// A p-value: "p = 0.031", "p < 0.0001".
func pText(_ p: Double) -> String { p < 0.0001 ? "p < 0.0001" : "p = " + fixed(p, p < 0.001 ? 4 : p < 0.1 ? 3 : 2) }

/// A time: "850 µs", "12 ms", "3.4 s", "5 min 20 s".
func duration(_ seconds: Double) -> String {
  switch seconds {
  case ..<0.001: fixed(seconds * 1e6, 0) + " µs"
  case ..<0.1: fixed(seconds * 1e3, 1) + " ms"
  case ..<1: fixed(seconds * 1e3, 0) + " ms"
  case ..<100: fixed(seconds, 1) + " s"
  default: fixed((seconds / 60).rounded(.down), 0) + " min " + fixed(seconds - (seconds / 60).rounded(.down) * 60, 0) + " s"
  }
}

/// A rate: three significant digits at least, millions as "31 M".
func rate(_ value: Double) -> String {
  value < 1e6 ? fixed(value, value < 10 ? 2 : value < 100 ? 1 : 0) : fixed(value / 1e6, value < 1e7 ? 1 : 0) + " M"
}

/// Bytes: "1.4 GiB".
func bytes(_ count: Int) -> String {
  var (value, unit) = (Double(count), 0)
  let units = ["B", "KiB", "MiB", "GiB", "TiB"]
  while value >= 1024, unit < units.count - 1 { (value, unit) = (value / 1024, unit + 1) }
  return fixed(value, unit == 0 || value >= 100 ? 0 : 1) + " " + units[unit]
}

/// "1 text", "2 texts", without the number.
func plural(_ count: Int, _ noun: String) -> String { count == 1 ? noun : noun + "s" }

/// The end of a long path or the beginning of a long name, so that a sentence stays readable.
func shortened(_ name: String, to limit: Int = 40) -> String {
  guard name.count > limit else { return name }
  let last = name.split(separator: "/").last.map(String.init) ?? name
  return last.count <= limit ? last : last.prefix(limit - 1) + "…"
}

/// A long name cut in the middle: labels and paths often differ at their ends only.
func middle(_ name: String, _ limit: Int) -> String {
  let count = name.count
  guard count > limit else { return name }
  let tail = limit / 2
  return name.prefix(limit - tail - 1) + "…" + name.suffix(tail)
}
