import DibitConstraint
import DibitJSON
import Foundation
import Testing

@Suite struct FuzzTests {
  /// `DIBIT_CONSTRAINT_FUZZ=100` runs a hundred times as many.
  private static let factor = Int(ProcessInfo.processInfo.environment["DIBIT_CONSTRAINT_FUZZ"] ?? "") ?? 1

  /// Damages a schema: bytes changed, removed, copied, or pieces of other schemas put in.
  private static func mutated(_ text: [UInt8], using rng: inout Seeded) -> [UInt8] {
    var text = text
    for _ in 0..<Int.random(in: 1...3, using: &rng) {
      guard !text.isEmpty else { return text }
      let index = Int.random(in: 0..<text.count, using: &rng)
      switch Int.random(in: 0..<5, using: &rng) {
      case 0: text[index] = UInt8.random(in: 0x20...0x7E, using: &rng)
      case 1: text.remove(at: index)
      case 2:
        let end = min(text.count, index + Int.random(in: 1...12, using: &rng))
        text.insert(contentsOf: text[index..<end], at: Int.random(in: 0...text.count, using: &rng))
      case 3:
        let piece = ["{}", "[]", "-1", "0", "1e400", "99999999999999999999", "null", "\"a\"", "{\"type\":\"array\"}", "\"^[a-z]{1,9}$\""]
        text.replaceSubrange(index..<index, with: Array((piece.randomElement(using: &rng) ?? "").utf8))
      default: text[index] ^= 1 << UInt8.random(in: 0..<8, using: &rng)
      }
    }
    return text
  }

  /// Changes a schema as a tree, so that most results are still schemas.
  private static func mutated(_ value: JSONValue, _ pool: [JSONValue], depth: Int, using rng: inout Seeded) -> JSONValue {
    if depth > 8 || Int.random(in: 0..<12, using: &rng) == 0 { return pool.randomElement(using: &rng) ?? .null }
    switch value {
    case .object(let object):
      var members = object.members.map { (key: $0.key, value: mutated($0.value, pool, depth: depth + 1, using: &rng)) }
      if !members.isEmpty, Int.random(in: 0..<6, using: &rng) == 0 { members.remove(at: Int.random(in: 0..<members.count, using: &rng)) }
      if Int.random(in: 0..<6, using: &rng) == 0, let other = pool.randomElement(using: &rng)?.object?.members.randomElement(using: &rng),
        !members.contains(where: { $0.key == other.key })
      {
        members.append(other)
      }
      return .object(JSONObject(members))
    case .array(let array): return .array(array.map { mutated($0, pool, depth: depth + 1, using: &rng) })
    case .integer(let number):
      return [.integer(number), .integer(number - 1), .integer(-number), .integer(Int.max), .number(0.5), .integer(3)].randomElement(
        using: &rng)
        ?? value
    default: return value
    }
  }

  private static func check(_ schema: JSONValue, using rng: inout Seeded) throws -> Bool {
    let constraint: Constraint
    do throws(ConstraintError) {
      constraint = try Constraint(schema: schema)
    } catch {
      #expect(!error.description.isEmpty && !error.description.contains("\n"))
      return false
    }
    let start = try TokenConstraint(constraint, vocabulary: TestVocabulary.shared).start()
    guard start.tokensToEnd < 200 else { return true }
    let (text, _, isWhole) = randomText(start, tokens: max(20, start.tokensToEnd), using: &rng)
    #expect(isWhole)
    _ = try JSONValue(parsing: text)
    return true
  }

  @Test func damagedTextNeverTraps() throws {
    var rng = Seeded(11)
    var (parsed, made) = (0, 0)
    for (schema, _, _) in schemas {
      for _ in 0..<25 * Self.factor {
        guard let value = try? JSONValue(parsing: Self.mutated(Array(schema.utf8), using: &rng)) else { continue }
        parsed += 1
        if try Self.check(value, using: &rng) { made += 1 }
      }
    }
    #expect(parsed > 100 && made > 20 && made < parsed, "\(parsed) documents, \(made) constraints")
  }

  @Test func damagedTreesNeverTrap() throws {
    var rng = Seeded(12)
    let trees = try schemas.map { try JSONValue(parsing: $0.schema) }
    var pool: [JSONValue] = []
    func collect(_ value: JSONValue) {
      pool.append(value)
      for member in value.object?.members ?? [] { collect(member.value) }
      for element in value.array ?? [] { collect(element) }
    }
    trees.forEach(collect)
    var (made, tried) = (0, 0)
    for tree in trees {
      for _ in 0..<12 * Self.factor {
        tried += 1
        if try Self.check(Self.mutated(tree, pool, depth: 0, using: &rng), using: &rng) { made += 1 }
      }
    }
    #expect(made > 100 && made < tried, "\(made) of \(tried)")
  }
}
