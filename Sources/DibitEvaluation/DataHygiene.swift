package import DibitDataset
package import DibitReport

/// Checks of evaluation data: all that a reader should know before believing its numbers.
package enum DataHygiene {
  /// Notes on the `examples` to evaluate on, beside the `training` texts and the `labels` that are chosen among.
  package static func notes(examples: [LabelledExample], training: [LabelledExample], labels: [String]) -> [HygieneNote] {
    var notes: [HygieneNote] = []
    let (tested, learnt) = (support(examples, labels), support(training, labels))
    let missing = labels.indices.filter { tested[$0] == 0 }
    if !missing.isEmpty {
      notes.append(
        HygieneNote(
          .unseenLabels, count: missing.count,
          "No text to evaluate on has \(list(missing.map { labels[$0] })): \(missing.count == 1 ? "its" : "their") F1 is not known."))
    }
    let unlearnt = labels.indices.filter { tested[$0] > 0 && learnt[$0] == 0 }
    if !training.isEmpty, !unlearnt.isEmpty {
      notes.append(
        HygieneNote(
          .unseenLabels, count: unlearnt.count,
          "No training text has \(list(unlearnt.map { labels[$0] })): nothing could learn \(unlearnt.count == 1 ? "it" : "them")."))
    }
    for (counts, what) in [(tested, "texts to evaluate on"), (learnt, "training texts")] {
      let present = counts.filter { $0 > 0 }
      guard let least = present.min(), let most = present.max(), most >= 10 * least else { continue }
      notes.append(
        HygieneNote(
          .imbalance, count: present.count,
          "The most frequent label has \(most) \(what), the rarest \(least): look at macro F1 and at the labels, not at accuracy alone."))
    }
    let empty = examples.count { $0.text.allSatisfy(\.isWhitespace) }
    if empty > 0 { notes.append(HygieneNote(.empty, count: empty, "\(empty) of the texts \(empty == 1 ? "is" : "are") empty.")) }
    let repeats = NearDuplicates(count: examples.count) { examples[$0].text }
    if !repeats.groups.isEmpty {
      let surplus = repeats.count - repeats.groups.count
      notes.append(
        HygieneNote(
          .duplicates, count: surplus,
          "\(surplus) of the texts \(surplus == 1 ? "is" : "are") nearly the same as another of them: intervals are a little too narrow."))
    }
    return notes
  }

  /// Counts the examples that carry each label.
  private static func support(_ examples: [LabelledExample], _ labels: [String]) -> [Int] {
    let truths = Truths(labels)
    var support = [Int](repeating: 0, count: labels.count)
    for example in examples { for label in truths.known(example) { support[label] += 1 } }
    return support
  }

  private static func list(_ names: [String]) -> String {
    let shown = names.prefix(5).map { "'\($0)'" }.joined(separator: ", ")
    return names.count > 5 ? "\(shown) and \(names.count - 5) other labels" : (names.count == 1 ? "label " : "labels ") + shown
  }
}
