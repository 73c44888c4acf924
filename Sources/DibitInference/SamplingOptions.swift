/// The rules by which the next token is chosen.
///
/// The steps always run in this order, and each sees what the one before it left:
///
/// 1. tokens that are not allowed are dropped;
/// 2. ``repetitionPenalty`` changes the logits of recent tokens;
/// 3. ``temperature`` divides the logits; at 0 the largest wins and the other steps are skipped;
/// 4. ``topK``, 5. ``topP``, 6. ``minP`` each keep some of the most likely tokens;
/// 7. one of the kept tokens is drawn by its probability among them.
///
/// This is the order of transformers, for which publishers tune the values that they recommend: the probabilities that top-p and min-p
/// look at are those that are drawn from. llama.cpp applies the temperature last, so that there the kept tokens do not depend on it.
package struct SamplingOptions: Equatable, Sendable {
  /// The divisor of logits; 0 takes the most likely token.
  package var temperature: Float = 0
  /// Keeps the k most likely tokens; 0 keeps all.
  package var topK = 0
  /// Keeps the fewest of the most likely tokens whose probabilities reach p together (Holtzman et al., 2020); 1 keeps all.
  package var topP: Float = 1
  /// Keeps the tokens that are at least this likely compared with the most likely one (Nguyen et al., 2024); 0 keeps all.
  package var minP: Float = 0
  /// The divisor of positive logits of recent tokens and factor of negative ones (Keskar et al., 2019); 1 changes nothing. A token is
  /// penalised once, however often it occurred.
  package var repetitionPenalty: Float = 1
  /// The number of last tokens, the prompt's included, that are recent; `Int.max` for all, as in transformers.
  package var repetitionWindow = 64
  /// The seed of every draw.
  package var seed: UInt64 = 0

  /// The most likely token each time.
  package init() {}

  /// True when the repetition penalty does anything.
  var penalizes: Bool { repetitionPenalty != 1 && repetitionWindow > 0 }
}
