package import DibitJSON
internal import DibitStatistics

extension EvaluationReport {
  /// The version of the JSON form; it changes when a key changes its meaning, not when one is added.
  package static let schema = 1

  /// The report for machines; `docs/formats/report.md` says what each key means. Unknown values are left out.
  package var json: JSONValue {
    var object = JSONObject()
    object["schema"] = .integer(Self.schema)
    object["model"] = text(model)
    object["data"] = text(data)
    object["examples"] = .integer(examples)
    object["split"] = .string(split)
    object["truncated_examples"] = .integer(truncated)
    object["labels"] = .array(labels.map { .string($0) })
    if isOpen { object["open"] = .bool(true) }
    object["majority_accuracy"] = .number(majority)
    object["standing"] = .string(standing.rawValue)
    object["verdict"] = .string(verdict)
    object["runs"] = .array(runs.map { $0.json(labels) })
    object["baselines"] = .array(baselines.map { $0.json(labels) })
    object["comparisons"] = .array(comparisons.map(\.json))
    object["leakage"] = leakage.map {
      ["exact_duplicates": .integer($0.exact), "near_duplicates": .integer($0.near), "left_out": .bool($0.leftOut)]
    }
    object["notes"] = .array(
      notes.map { ["kind": .string($0.kind.rawValue), "count": .integer($0.count), "text": .string($0.text)] })
    // As text: a reader that keeps numbers as doubles would change a large seed.
    object["seed"] = seed.map { $0 < 1 << 53 ? .integer(Int($0)) : .string(String($0)) }
    object["digests"] = digests.json
    object["command"] = text(command)
    object["training"] = .array(
      losses.map { series in
        [
          "name": .string(series.name), "steps": .array(series.points.map { .integer($0.step) }),
          "losses": .array(series.points.map { .number($0.loss) }),
        ]
      })
    return .object(object)
  }
}

private func text(_ value: String?) -> JSONValue? { value.map { .string($0) } }
private func number(_ value: Double?) -> JSONValue? { value.map { .number($0) } }
private func ends(_ interval: ConfidenceInterval?) -> JSONValue? { interval.map { [.number($0.lower), .number($0.upper)] } }

extension Digests {
  fileprivate var json: JSONValue {
    var object = JSONObject()
    object["model"] = text(model)
    object["data"] = text(data)
    object["adapters"] = .array(adapters.map { ["name": .string($0.name), "digest": .string($0.digest)] })
    return .object(object)
  }
}

extension RunComparison {
  fileprivate var json: JSONValue {
    var object = JSONObject([
      (key: "a", value: .string(a)), (key: "b", value: .string(b)), (key: "metric", value: .string(metric.rawValue)),
      (key: "difference", value: .number(difference)),
    ])
    object["ci95"] = ends(interval)
    object["p_value"] = .number(pValue)
    object["p_value_raw"] = .number(rawPValue)
    object["correction"] = .number(correction)
    object["cohen_h"] = number(effectSize)
    object["odds_ratio"] = number(oddsRatio)
    object["smallest_detectable"] = number(smallestDetectable)
    object["examples_needed"] = examplesNeeded.map { .integer($0) }
    if isIdentical { object["identical"] = .bool(true) }
    return .object(object)
  }
}

extension ReportedRun {
  fileprivate func json(_ labels: [String]) -> JSONValue {
    var object = JSONObject()
    object["name"] = .string(name)
    object["kind"] = .string(kind.rawValue)
    object["accuracy"] = .number(metrics.accuracy)
    object["accuracy_ci95"] = ends(accuracyInterval)
    object["macro_f1"] = .number(metrics.macroF1)
    object["macro_f1_ci95"] = ends(macroF1Interval)
    if !intervals.isEmpty {
      object["intervals"] = .object(
        JSONObject(Metric.allCases.compactMap { metric in ends(intervals[metric]).map { (key: metric.rawValue, value: $0) } }))
    }
    object["weighted_f1"] = .number(metrics.weighted(\.f1))
    object["balanced_accuracy"] = .number(metrics.balancedAccuracy)
    object["cohen_kappa"] = .number(metrics.cohenKappa)
    object["matthews_correlation"] = .number(metrics.matthewsCorrelation)
    object["macro_auroc"] = number(macroAUROC)
    object["log_loss"] = number(logLoss)
    object["brier"] = number(brier)
    object["ece"] = number(calibrationError)
    object["ece_equal_mass"] = number(equalMassCalibrationError)
    object["mce"] = number(maximumCalibrationError)
    object["aurc"] = number(abstentionArea)
    object["seconds"] = .number(seconds)
    object["latency_p50"] = number(latency?.median)
    object["latency_p95"] = number(latency?.p95)
    object["tokens_per_second"] = number(tokensPerSecond)
    object["memory_bytes"] = memoryBytes.map { .integer($0) }
    object["unparsable_share"] = number(unparsableShare)
    object["content_loss"] = number(contentLoss)
    object["perplexity"] = number(perplexity)
    object["kl_from_base"] = number(divergence)
    object["few_shot"] = shots?.json
    object["tags"] = tags?.json
    object["calibration"] = .array(calibration.map(\.json))
    object["abstention"] = .array(
      abstention.map { ["threshold": .number($0.threshold), "coverage": .number($0.coverage), "risk": .number($0.risk)] })
    object["per_label"] = .object(
      JSONObject(
        labels.indices.map { label in
          let scores = metrics.perLabel[label]
          var object = JSONObject([
            (key: "precision", value: .number(scores.precision)), (key: "recall", value: .number(scores.recall)),
            (key: "f1", value: .number(scores.f1)), (key: "support", value: .integer(scores.support)),
          ])
          if label < f1Intervals.count { object["f1_ci95"] = ends(f1Intervals[label]) }
          return (key: labels[label], value: .object(object))
        }))
    object["confusion"] = .array(metrics.confusion.map { .array($0.map { .integer($0) }) })
    if !samples.isEmpty { object["samples"] = .array(samples.map { $0.json(labels) }) }
    return .object(object)
  }
}

extension CalibrationBin {
  fileprivate var json: JSONValue {
    [
      "low": .number(lower), "high": .number(upper), "count": .integer(count), "confidence": .number(confidence),
      "accuracy": .number(accuracy),
    ]
  }
}

extension ReportedTags {
  fileprivate var json: JSONValue {
    func object(_ scores: TagMetrics.Scores) -> JSONValue {
      [
        "precision": .number(scores.precision), "recall": .number(scores.recall), "f1": .number(scores.f1),
        "jaccard": .number(scores.jaccard),
      ]
    }
    return [
      "micro": object(micro), "macro": object(macro), "samples": object(samples), "subset_accuracy": .number(subsetAccuracy),
      "hamming_loss": .number(hammingLoss),
      "at_k": .array(atK.map { ["k": .integer($0.k), "precision": .number($0.precision), "recall": .number($0.recall)] }),
    ]
  }
}

extension ReportedSample {
  fileprivate func json(_ labels: [String]) -> JSONValue {
    [
      "text": .string(text), "truth": .string(labels[truth]), "prediction": .string(labels[prediction]),
      "probabilities": .object(JSONObject(probabilities.map { (key: labels[$0.label], value: .number($0.probability)) })),
    ]
  }
}
