import DibitTensor
import Testing

@Suite struct TensorTests {
  @Test func splitMixIsTheReferenceSequence() {
    var rng = SplitMix64(seed: 1_234_567)
    // The published test vector of the reference implementation for this seed.
    #expect([rng.next(), rng.next(), rng.next()] == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423])
  }
}
