package import DibitJSON

/// A model in several forms: each beside the reference that it comes from, on the same text.
package struct ModelComparison: Equatable, Sendable {
  /// A matrix, and what its rounding lost.
  package struct Tensor: Equatable, Sendable {
    /// The tensor's name.
    package let name: String
    /// The form in which it is stored, in words.
    package let storage: String
    /// Signal over noise in dB, each input counted by its energy on the text; infinite where nothing was lost.
    package let decibels: Double

    /// A matrix of this name.
    package init(name: String, storage: String, decibels: Double) { (self.name, self.storage, self.decibels) = (name, storage, decibels) }
  }

  /// The size of a model and its predictions of the text.
  package struct Form: Equatable, Sendable {
    /// The path that the user gave.
    package var name: String
    /// Bytes of the weights.
    package var bytes: Int
    /// Bits for each weight over all.
    package var bitsPerWeight: Double
    /// The perplexity of the text.
    package var perplexity: Double

    /// A model of this size and perplexity.
    package init(name: String, bytes: Int, bitsPerWeight: Double, perplexity: Double) {
      (self.name, self.bytes, self.bitsPerWeight, self.perplexity) = (name, bytes, bitsPerWeight, perplexity)
    }
  }

  /// A model, and its distance from the reference.
  package struct Entry: Equatable, Sendable {
    /// Its size and perplexity.
    package var form: Form
    /// Mean divergence from the reference's predictions, in nats for each token.
    package var divergence: Double
    /// The standard error of that mean.
    package var standardError: Double
    /// The divergence that 99 of 100 tokens do not exceed.
    package var percentile99: Double
    /// The share of tokens for which both have the same most likely token.
    package var agreement: Double
    /// Signal over noise in dB over all matrices, weighted as those of ``tensors``; nil where the model has other matrices than the reference.
    package var decibels: Double?
    /// Every matrix that lost something, the worst first.
    package var tensors: [Tensor]

    /// A model at this distance.
    package init(
      _ form: Form, divergence: Double, standardError: Double, percentile99: Double, agreement: Double, decibels: Double?, tensors: [Tensor]
    ) {
      (self.form, self.divergence, self.standardError, self.percentile99) = (form, divergence, standardError, percentile99)
      (self.agreement, self.decibels, self.tensors) = (agreement, decibels, tensors)
    }
  }

  /// The beginning of a text, and what each model says next.
  package struct Continuation: Equatable, Sendable {
    /// The beginning.
    package let beginning: String
    /// The reference's continuation.
    package let reference: String
    /// Those of the models, in their order.
    package let models: [String]

    /// A beginning with what follows.
    package init(beginning: String, reference: String, models: [String]) {
      (self.beginning, self.reference, self.models) = (beginning, reference, models)
    }
  }

  /// The text, in words.
  package let text: String
  /// Tokens that were predicted.
  package let tokens: Int
  /// The model that the others come from.
  package let reference: Form
  /// The models, in the order in which they were given.
  package let entries: [Entry]
  /// The continuations of several beginnings.
  package let continuations: [Continuation]

  /// A comparison on a text.
  package init(text: String, tokens: Int, reference: Form, entries: [Entry], continuations: [Continuation]) {
    (self.text, self.tokens, self.reference, self.entries, self.continuations) = (text, tokens, reference, entries, continuations)
  }

  /// The perplexity of a model over the reference's.
  package func ratio(_ entry: Entry) -> Double { entry.form.perplexity / reference.perplexity }

  /// The comparison for machines; `schema` changes when a key changes its meaning.
  package var json: JSONValue {
    [
      "schema": 1, "text": .string(text), "tokens": .integer(tokens), "reference": .object(JSONObject(members(reference))),
      "models": .array(
        entries.map { entry in
          .object(
            JSONObject(
              members(entry.form) + [
                (key: "perplexity_ratio", value: .number(ratio(entry))),
                (
                  key: "kl_divergence",
                  value: [
                    "mean": .number(entry.divergence), "standard_error": .number(entry.standardError),
                    "percentile_99": .number(entry.percentile99),
                  ]
                ), (key: "top_1_agreement", value: .number(entry.agreement)),
                (key: "weighted_snr_db", value: entry.decibels.map { .number($0) } ?? .null),
                (
                  key: "tensors",
                  value: .array(
                    entry.tensors.map { tensor in
                      [
                        "name": .string(tensor.name), "storage": .string(tensor.storage), "weighted_snr_db": .number(tensor.decibels),
                      ]
                    })
                ),
              ]))
        }),
      "continuations": .array(
        continuations.map { continuation in
          [
            "beginning": .string(continuation.beginning), "reference": .string(continuation.reference),
            "models": .array(continuation.models.map { .string($0) }),
          ]
        }),
    ]
  }

  private func members(_ form: Form) -> [(key: String, value: JSONValue)] {
    [
      (key: "name", value: .string(form.name)), (key: "bytes", value: .integer(form.bytes)),
      (key: "bits_per_weight", value: .number(form.bitsPerWeight)), (key: "perplexity", value: .number(form.perplexity)),
    ]
  }
}
