import DibitJSON
import Foundation
import Testing

/// What scikit-learn and SciPy give on random data; `Tests/Fixtures/make_statistics.py` writes it.
enum Goldens {
  static let file = String(#filePath.dropLast("DibitStatisticsTests/Goldens.swift".count)) + "Fixtures/statistics/goldens.json"

  static func load(_ key: String) throws -> JSONValue {
    let document = try JSONValue(parsing: try Data(contentsOf: URL(filePath: file, directoryHint: .notDirectory)))
    return try #require(document[key])
  }

  static func list(_ key: String) throws -> [JSONValue] {
    let list = try load(key).array
    return try #require(list)
  }
}

extension JSONValue {
  func numbers(_ key: String) throws -> [Double] { try #require(self[key]?.array?.compactMap { $0.double }) }
  func integers(_ key: String) throws -> [Int] { try #require(self[key]?.array?.compactMap { $0.int }) }
  func rows(_ key: String) throws -> [[Double]] { try #require(self[key]?.array?.map { $0.array?.compactMap { $0.double } ?? [] }) }
  func number(_ key: String) throws -> Double { try #require(self[key]?.double) }
}

/// The agreement that is asked of two computations in double of the same thing, in different orders.
func isClose(_ a: Double, _ b: Double, _ tolerance: Double = 1e-9) -> Bool { abs(a - b) <= tolerance * max(1, abs(b)) }
