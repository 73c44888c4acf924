extension GenerationGuide {
  /// Returns the guide that an array has at least so many elements.
  ///
  /// - Parameters:
  ///   - count: The least number of elements.
  /// - Returns: The guide.
  public static func minimumCount<Element>(_ count: Int) -> GenerationGuide<[Element]> where Value == [Element] {
    GenerationGuide<[Element]>(.minimumCount(count))
  }

  /// Returns the guide that an array has at most so many elements.
  ///
  /// - Parameters:
  ///   - count: The greatest number of elements.
  /// - Returns: The guide.
  public static func maximumCount<Element>(_ count: Int) -> GenerationGuide<[Element]> where Value == [Element] {
    GenerationGuide<[Element]>(.maximumCount(count))
  }

  /// Returns the guide that the number of an array's elements lies in a range, its ends included.
  ///
  /// - Parameters:
  ///   - range: The range.
  /// - Returns: The guide.
  public static func count<Element>(_ range: ClosedRange<Int>) -> GenerationGuide<[Element]> where Value == [Element] {
    GenerationGuide<[Element]>(.minimumCount(range.lowerBound), .maximumCount(range.upperBound))
  }

  /// Returns the guide that an array has exactly so many elements.
  ///
  /// - Parameters:
  ///   - count: The number of elements.
  /// - Returns: The guide.
  public static func count<Element>(_ count: Int) -> GenerationGuide<[Element]> where Value == [Element] {
    GenerationGuide<[Element]>(.minimumCount(count), .maximumCount(count))
  }

  /// Returns the guide that each element of an array satisfies a guide.
  ///
  /// - Parameters:
  ///   - guide: The guide of the elements.
  /// - Returns: The guide.
  public static func element<Element>(_ guide: GenerationGuide<Element>) -> GenerationGuide<[Element]> where Value == [Element] {
    GenerationGuide<[Element]>(rules: guide.rules.map(GuideRule.element))
  }
}

// An argument like `.count(3)` of a macro is checked before its type is known; this gives it one.
extension GenerationGuide where Value == [Never] {
  /// Returns the guide that an array has at least so many elements.
  ///
  /// - Parameters:
  ///   - count: The least number of elements.
  /// - Returns: The guide.
  public static func minimumCount(_ count: Int) -> GenerationGuide<[Never]> { GenerationGuide<[Never]>(.minimumCount(count)) }

  /// Returns the guide that an array has at most so many elements.
  ///
  /// - Parameters:
  ///   - count: The greatest number of elements.
  /// - Returns: The guide.
  public static func maximumCount(_ count: Int) -> GenerationGuide<[Never]> { GenerationGuide<[Never]>(.maximumCount(count)) }

  /// Returns the guide that the number of an array's elements lies in a range, its ends included.
  ///
  /// - Parameters:
  ///   - range: The range.
  /// - Returns: The guide.
  public static func count(_ range: ClosedRange<Int>) -> GenerationGuide<[Never]> {
    GenerationGuide<[Never]>(.minimumCount(range.lowerBound), .maximumCount(range.upperBound))
  }

  /// Returns the guide that an array has exactly so many elements.
  ///
  /// - Parameters:
  ///   - count: The number of elements.
  /// - Returns: The guide.
  @_disfavoredOverload
  public static func count(_ count: Int) -> GenerationGuide<[Never]> {
    GenerationGuide<[Never]>(.minimumCount(count), .maximumCount(count))
  }
}
