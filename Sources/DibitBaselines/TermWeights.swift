internal import RealModule

/// The terms of many texts: for each text the numbers of its terms, in order, with how often it has each.
struct TermCounts: Sendable {
  /// The numbers of all terms.
  private(set) var numbers: TermNumbers
  private var starts = [0]
  private var terms: [Int32] = []
  private var counts: [Int32] = []

  /// Takes `texts` apart.
  ///
  /// - Complexity: O(terms · log(terms of a text)).
  init(_ texts: [String], _ kind: TermKind) {
    numbers = TermNumbers(kind)
    for text in texts {
      for (term, count) in Self.counted(numbers.learn(text)) {
        terms.append(term)
        counts.append(count)
      }
      starts.append(terms.count)
    }
  }

  /// The number of different terms of all texts together.
  var entries: Int { terms.count }

  /// The terms of text `text` with their counts.
  func entries(_ text: Int) -> some Sequence<(Int32, Int32)> {
    zip(terms[starts[text]..<starts[text + 1]], counts[starts[text]..<starts[text + 1]])
  }

  /// Each of `terms` once, in order, with its count.
  static func counted(_ terms: [Int32]) -> [(Int32, Int32)] {
    var counted: [(Int32, Int32)] = []
    for term in terms.sorted() {
      if counted.last?.0 == term { counted[counted.count - 1].1 += 1 } else { counted.append((term, 1)) }
    }
    return counted
  }
}

/// The weights of terms in a row of features: the rarer a term is in the texts that were learnt, the more it counts.
///
/// `(1 + log count) · (1 + log((1 + texts) / (1 + texts with the term)))`, and rows are scaled to length 1. Source: Salton and Buckley,
/// "Term-weighting approaches in automatic text retrieval" (1988), in the form of scikit-learn's `TfidfVectorizer(sublinear_tf=True)`.
struct TermWeights: Sendable {
  /// The number of columns.
  let columns: Int
  /// The column of each term; -1 for one that is left out.
  private var columnOfTerm: [Int32]
  private var weights: [Double]

  /// Learns from `texts` of `counts`. Where there are more than `limit` terms, those that only one text has are left out, then those of two
  /// texts, and so on, until no more are left.
  init(_ counts: TermCounts, texts: [Int], limit: Int) {
    var textsWith = [Int](repeating: 0, count: counts.numbers.count)
    for text in texts { for (term, _) in counts.entries(text) { textsWith[Int(term)] += 1 } }
    // `terms[n]`: how many terms n texts have.
    var terms = [Int](repeating: 0, count: texts.count + 1)
    for count in textsWith { terms[count] += 1 }
    var (least, columns) = (1, terms.dropFirst().reduce(0, +))
    while columns > limit {
      columns -= terms[least]
      least += 1
    }
    self.columns = columns
    columnOfTerm = []
    weights = []
    for count in textsWith {
      columnOfTerm.append(count >= least ? Int32(weights.count) : -1)
      if count >= least { weights.append(1 + .log(Double(1 + texts.count) / Double(1 + count))) }
    }
  }

  /// Takes the weights of terms whose numbers are their columns.
  init(_ weights: [Double]) {
    self.weights = weights
    columns = weights.count
    columnOfTerm = weights.indices.map { Int32($0) }
  }

  /// The weight of each column.
  var ofColumns: [Double] { weights }

  /// The column of a term; nil for one that is left out.
  func column(of term: Int32) -> Int? { has(term) ? Int(columnOfTerm[Int(term)]) : nil }

  /// True for a term that has a column.
  func has(_ term: Int32) -> Bool { columnOfTerm[Int(term)] >= 0 }

  /// Adds a row to `rows`: the weights of `terms`, each of which comes once, from column `first` on.
  func append(_ terms: some Sequence<(Int32, Int32)>, to rows: inout SparseRows, from first: Int) {
    var row: [(column: Int, weight: Double)] = []
    var squares = 0.0
    for (term, count) in terms where has(term) {
      let column = Int(columnOfTerm[Int(term)])
      let weight = (1 + Double.log(Double(count))) * weights[column]
      row.append((column, weight))
      squares += weight * weight
    }
    let length = Double.sqrt(squares)
    for (column, weight) in row { rows.append(weight / length, at: first + column) }
  }
}
