/// A count with commas between thousands.
package func grouped(_ count: Int) -> String {
  let digits = Array(String(count))
  return digits.indices.map { ($0 > 0 && (digits.count - $0) % 3 == 0 ? "," : "") + String(digits[$0]) }.joined()
}

/// "1 text", "4,000 texts"; `plural` where it is not the noun with an s behind it.
package func counted(_ count: Int, _ noun: String = "text", _ plural: String? = nil) -> String {
  "\(grouped(count)) \(count == 1 ? noun : plural ?? noun + "s")"
}
