/// The ids that are put around an encoded text.
struct PostProcessor: Sendable, Equatable {
  var prefix: [Int32] = []
  var suffix: [Int32] = []
}
