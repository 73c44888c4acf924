internal import ArgumentParser
internal import Dibit
internal import DibitJSON
internal import DibitKernels
internal import DibitRecipe
internal import DibitReport
internal import Glibc

/// Options of every command that computes.
struct ComputeOptions: ParsableArguments {
  /// More than the CPUs are allowed, for measurements and for quotas that have changed; the pool copes.
  @Option(
    help: ArgumentHelp(
      "Threads to use, up to 1024; by default one for each core that this process may use. Results do not depend on it.", valueName: "n"))
  var threads: Int?

  func validate() throws {
    if let threads, !(1...1024).contains(threads) { throw ValidationError("--threads: expected a number from 1 to 1024, found \(threads)") }
  }

  /// The kernels and threads that were asked for.
  func makeCompute() throws -> Compute { Compute(isa: try ISA.requested(), threads: threads).toldOf() }

  /// The same for asking about many texts, with the precision that `evaluate` has unless it is told otherwise.
  ///
  /// Results do not depend on how many texts share a pass: a library's products of an adapter's matrices would.
  func makeScoringCompute() throws -> Compute {
    Compute(isa: try ISA.requested(), threads: threads, usesBLAS: false, floats: ActivationPrecision.int8.floats)
  }

  /// The same for training, with products in what a recipe says. BF16 where it says nothing.
  func makeCompute(for recipe: OptimizationRecipe?) throws -> Compute {
    let precision = ProductPrecision(recipe: recipe)
    return Compute(isa: try ISA.requested(), threads: threads, gradients: precision, floats: precision).toldOf()
  }
}

extension Compute {
  /// Itself, after a note where it is not what it would be with more memory.
  fileprivate func toldOf() -> Compute {
    if let note = productLibraryNote { Terminal.note(note) }
    return self
  }
}

/// Options of every command that runs a model.
struct RuntimeOptions: ParsableArguments {
  @OptionGroup var compute: ComputeOptions

  @Option(
    help: ArgumentHelp(
      """
      What weights of 2, 4 and 8 bits are multiplied with: int8, the fastest; int16, as exact as floats; float, slow, for comparisons. With int8, texts \
      are scored in BF16 where weights are floats.
      """,
      valueName: "type"),
    transform: { try choice($0, "--activations") })
  var activations = ActivationPrecision.int8

  @Option(
    help: ArgumentHelp(
      "How exactly keys and values are kept: int8, the smallest; float16; float32, for comparisons. Models with scales of their own use these.",
      valueName: "type"),
    transform: { try choice($0, "--cache") })
  var cache = KeyValuePrecision.int8

  /// The kernels, threads, activations, keys and values that were asked for.
  func makeCompute() throws -> Compute {
    Compute(isa: try ISA.requested(), threads: compute.threads, activations: activations, keysAndValues: cache).toldOf()
  }

  /// The same for asking about many texts: results must not depend on how many of them share a pass, and a library's products of an adapter's
  /// matrices round differently for another number of rows. Float weights are multiplied as fast as the activations allow.
  func makeScoringCompute() throws -> Compute {
    Compute(
      isa: try ISA.requested(), threads: compute.threads, usesBLAS: false, activations: activations, keysAndValues: cache,
      floats: activations.floats)
  }
}

/// Refuses a value outside of `range`; none is no fault.
func checkRange<Value: Comparable>(_ name: String, _ value: Value?, _ range: ClosedRange<Value>) throws {
  guard let value, !range.contains(value) else { return }
  throw ValidationError("--\(name): expected a number from \(range.lowerBound) to \(range.upperBound), found \(value)")
}

/// Refuses what the library refuses, in the words of the command line.
func checkOptions(_ check: () throws(DibitError) -> Void) throws {
  do throws(DibitError) { try check() } catch { throw ValidationError(Failure(error).message) }
}

/// The option's value of this name.
func choice<Value: RawRepresentable<String> & CaseIterable>(_ name: String, _ option: String) throws -> Value {
  guard let value = Value(rawValue: name) else {
    let names = Value.allCases.map(\.rawValue)
    throw ValidationError("\(option): expected \(names.dropLast().joined(separator: ", ")) or \(names.last ?? ""), found '\(name)'")
  }
  return value
}

/// Prints a result for machines.
func printJSON(_ value: JSONValue) { Output.print(value.serialized(pretty: true)) }

/// Prints columns of text, the first left-aligned, the others right-aligned.
func printTable(_ rows: [[String]]) { for line in table(rows) { Output.print(line) } }

/// The lines of such a table; where they would be wider than `width`, the columns that do not fit stand below, beside the first one again.
func table(_ rows: [[String]], width: Int? = nil) -> [String] {
  guard let columns = rows.map(\.count).max(), columns > 0 else { return [] }
  let widths = (0..<columns).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
  var blocks: [[Int]] = [[]]
  var used = widths[0]
  for column in 1..<max(columns, 1) {
    if let width, used + 2 + widths[column] > width, blocks[blocks.count - 1].count > 0 {
      blocks.append([])
      used = widths[0]
    }
    blocks[blocks.count - 1].append(column)
    used += 2 + widths[column]
  }
  return blocks.enumerated().flatMap { number, block in
    (number > 0 ? [""] : [])
      + rows.map { row in
        let cells = ([0] + block).filter { $0 < row.count }.map { column in
          let padding = String(repeating: " ", count: widths[column] - row[column].count)
          return column == 0 ? row[column] + padding : padding + row[column]
        }
        return cells.joined(separator: "  ")
      }
  }
}

/// Prose in lines of a terminal's width; one line where there is none.
func wrapped(_ text: String, width: Int?) -> [String] { width.map { TerminalText.wrap(text, $0, limit: .max) } ?? [text] }
