/// A date and time that templates can ask for with `strftime_now`. Rendering never looks at a clock of its own.
package struct JinjaClock: Equatable, Sendable {
  /// The year, such as 2026.
  package var year: Int
  /// The month, 1 to 12.
  package var month: Int
  /// The day of the month, from 1.
  package var day: Int
  /// The hour, 0 to 23.
  package var hour: Int
  /// The minute, 0 to 59.
  package var minute: Int
  /// The second, 0 to 59.
  package var second: Int

  /// A date, or nil when there is no such day or time from the year 1 to 9999.
  package init?(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
    guard (1...9999).contains(year), (1...12).contains(month), (1...Self.days(year, month)).contains(day), (0...23).contains(hour),
      (0...59).contains(minute), (0...59).contains(second)
    else { return nil }
    (self.year, self.month, self.day, self.hour, self.minute, self.second) = (year, month, day, hour, minute, second)
  }

  private static func days(_ year: Int, _ month: Int) -> Int {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
  ]
  private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

  /// The date as `strftime` of the C locale writes it, or nil when a directive is not known.
  func formatted(_ format: String) -> String? {
    let (month, weekday) = (Self.months[min(max(month, 1), 12) - 1], Self.weekdays[self.weekday])
    let hour12 = hour % 12 == 0 ? 12 : hour % 12
    var result = ""
    var scalars = format.unicodeScalars.makeIterator()
    while let scalar = scalars.next() {
      guard scalar == "%" else {
        result.unicodeScalars.append(scalar)
        continue
      }
      guard var directive = scalars.next() else { return nil }
      let isBare = directive == "-"
      if isBare {
        guard let next = scalars.next() else { return nil }
        directive = next
      }
      func padded(_ value: Int, _ width: Int = 2) -> String {
        let digits = String(value)
        return isBare ? digits : String(repeating: "0", count: max(0, width - digits.count)) + digits
      }
      switch directive {
      case "d": result += padded(day)
      case "m": result += padded(self.month)
      case "y": result += padded(year % 100)
      case "H": result += padded(hour)
      case "I": result += padded(hour12)
      case "M": result += padded(minute)
      case "S": result += padded(second)
      case "j": result += padded(dayOfYear, 3)
      case _ where isBare: return nil
      case "e": result += day < 10 ? " \(day)" : "\(day)"
      case "Y": result += String(year)
      case "B": result += month
      case "b", "h": result += month.prefix(3)
      case "A": result += weekday
      case "a": result += weekday.prefix(3)
      case "p": result += hour < 12 ? "AM" : "PM"
      case "F": result += "\(year)-\(padded(self.month))-\(padded(day))"
      case "T": result += "\(padded(hour)):\(padded(minute)):\(padded(second))"
      case "%": result += "%"
      case "n": result += "\n"
      case "t": result += "\t"
      default: return nil
      }
    }
    return result
  }

  private var dayOfYear: Int { (1..<max(month, 1)).reduce(day) { $0 + Self.days(year, $1) } }

  /// Days since Sunday, by counting from the year 1, which began on a Monday.
  private var weekday: Int {
    let years = max(year, 1) - 1
    return (years * 365 + years / 4 - years / 100 + years / 400 + dayOfYear) % 7
  }
}
