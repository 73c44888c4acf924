import FoundationModels

@Generable
struct Person {
  @Guide(description: "A first name and a family name", .pattern(/[A-Z][a-z]{1,11} [A-Z][a-z]{1,11}/)) var name: String
  @Guide(.range(1...99)) var age: Int
  @Guide(description: "In metres", .range(0.5...2.5)) var height: Double
  var isMarried: Bool
  @Guide(.anyOf(["Paris", "Rome", "Berlin", "Madrid"])) var city: String
  @Guide(description: "What the person likes to do", .count(1...3)) var hobbies: [String]
  var occupation: Occupation
  @Guide(description: "A number or nothing", .range(0...100)) var luckyNumber: Int?

  @Generable
  enum Occupation { case student, teacher, doctor, engineer, retired }
}

@Generable
struct Tag {
  @Guide(description: "The topic of the text", .anyOf(["food", "sport", "travel", "money"])) var topic: String
}

struct Weather: Tool {
  let name = "getWeather"
  let description = "Returns the weather in a city."

  @Generable
  struct Arguments {
    @Guide(description: "The name of the city.") var city: String
  }

  func call(arguments: Arguments) async throws -> String { "It is sunny and 25 degrees in \(arguments.city)." }
}
