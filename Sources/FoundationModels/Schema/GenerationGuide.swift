public import Foundation

/// A demand on a generated value, which the model is held to while it generates.
///
/// ```swift
/// @Guide(description: "Percent", .range(0...100)) var humidity: Int
/// ```
///
/// A guide that its type does not know or that cannot be enforced is an error when a response is asked for; none is passed over.
public struct GenerationGuide<Value> {
  /// The demands: one, or two for a range.
  let rules: [GuideRule]

  init(_ rules: GuideRule...) { self.rules = rules }

  init(rules: [GuideRule]) { self.rules = rules }
}

extension GenerationGuide where Value == String {
  /// Returns the guide that a text is exactly this one.
  ///
  /// - Parameters:
  ///   - value: The text.
  /// - Returns: The guide.
  public static func constant(_ value: String) -> GenerationGuide<String> { GenerationGuide(.constant(value)) }

  /// Returns the guide that a text is one of several.
  ///
  /// - Parameters:
  ///   - values: The texts, at least one.
  /// - Returns: The guide.
  public static func anyOf(_ values: [String]) -> GenerationGuide<String> { GenerationGuide(.anyOf(values)) }

  /// Returns the guide that a regular expression matches the whole text.
  ///
  /// The expression must be regular: without look-around, back-references, word boundaries, Unicode properties and code.
  ///
  /// - Parameters:
  ///   - regex: The expression.
  /// - Returns: The guide.
  public static func pattern<Output>(_ regex: Regex<Output>) -> GenerationGuide<String> {
    GenerationGuide(.pattern(GuideRule.Pattern(regex)))
  }
}

extension GenerationGuide where Value == Int {
  /// Returns the guide that a number is at least this.
  ///
  /// - Parameters:
  ///   - value: The least number.
  /// - Returns: The guide.
  public static func minimum(_ value: Int) -> GenerationGuide<Int> { GenerationGuide(.minimum(GuideRule.Limit(value))) }

  /// Returns the guide that a number is at most this.
  ///
  /// - Parameters:
  ///   - value: The greatest number.
  /// - Returns: The guide.
  public static func maximum(_ value: Int) -> GenerationGuide<Int> { GenerationGuide(.maximum(GuideRule.Limit(value))) }

  /// Returns the guide that a number lies in a range, its ends included.
  ///
  /// - Parameters:
  ///   - range: The range.
  /// - Returns: The guide.
  public static func range(_ range: ClosedRange<Int>) -> GenerationGuide<Int> {
    GenerationGuide(.minimum(GuideRule.Limit(range.lowerBound)), .maximum(GuideRule.Limit(range.upperBound)))
  }
}

extension GenerationGuide where Value == Float {
  /// Returns the guide that a number is at least this.
  ///
  /// - Parameters:
  ///   - value: The least number.
  /// - Returns: The guide.
  public static func minimum(_ value: Float) -> GenerationGuide<Float> { GenerationGuide(.minimum(GuideRule.Limit(value))) }

  /// Returns the guide that a number is at most this.
  ///
  /// - Parameters:
  ///   - value: The greatest number.
  /// - Returns: The guide.
  public static func maximum(_ value: Float) -> GenerationGuide<Float> { GenerationGuide(.maximum(GuideRule.Limit(value))) }

  /// Returns the guide that a number lies in a range, its ends included.
  ///
  /// - Parameters:
  ///   - range: The range.
  /// - Returns: The guide.
  public static func range(_ range: ClosedRange<Float>) -> GenerationGuide<Float> {
    GenerationGuide(.minimum(GuideRule.Limit(range.lowerBound)), .maximum(GuideRule.Limit(range.upperBound)))
  }
}

extension GenerationGuide where Value == Double {
  /// Returns the guide that a number is at least this.
  ///
  /// - Parameters:
  ///   - value: The least number.
  /// - Returns: The guide.
  public static func minimum(_ value: Double) -> GenerationGuide<Double> { GenerationGuide(.minimum(GuideRule.Limit(value))) }

  /// Returns the guide that a number is at most this.
  ///
  /// - Parameters:
  ///   - value: The greatest number.
  /// - Returns: The guide.
  public static func maximum(_ value: Double) -> GenerationGuide<Double> { GenerationGuide(.maximum(GuideRule.Limit(value))) }

  /// Returns the guide that a number lies in a range, its ends included.
  ///
  /// - Parameters:
  ///   - range: The range.
  /// - Returns: The guide.
  public static func range(_ range: ClosedRange<Double>) -> GenerationGuide<Double> {
    GenerationGuide(.minimum(GuideRule.Limit(range.lowerBound)), .maximum(GuideRule.Limit(range.upperBound)))
  }
}

extension GenerationGuide where Value == Decimal {
  /// Returns the guide that a number is at least this.
  ///
  /// - Parameters:
  ///   - value: The least number.
  /// - Returns: The guide.
  public static func minimum(_ value: Decimal) -> GenerationGuide<Decimal> { GenerationGuide(.minimum(GuideRule.Limit(value))) }

  /// Returns the guide that a number is at most this.
  ///
  /// - Parameters:
  ///   - value: The greatest number.
  /// - Returns: The guide.
  public static func maximum(_ value: Decimal) -> GenerationGuide<Decimal> { GenerationGuide(.maximum(GuideRule.Limit(value))) }

  /// Returns the guide that a number lies in a range, its ends included.
  ///
  /// - Parameters:
  ///   - range: The range.
  /// - Returns: The guide.
  public static func range(_ range: ClosedRange<Decimal>) -> GenerationGuide<Decimal> {
    GenerationGuide(.minimum(GuideRule.Limit(range.lowerBound)), .maximum(GuideRule.Limit(range.upperBound)))
  }
}
