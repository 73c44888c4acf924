internal import DibitKernels
internal import DibitTensor

/// A part of a block: it reads rows of the residual stream, `[n, C]`, and makes rows that are added to it.
///
/// A part lists its parameters when it is made, and its activations in one place. Beside what is required here it has, all in one file,
/// - `Activations`, the matrices that its forward pass writes and its backward pass reads;
/// - `prepare`, what other rows need of these rows, and `keepRows`, which keeps of that the rows that go on, where there is such;
/// - `forward` and `backward`, which is the forward pass read upwards, line by line.
///
/// These are no requirements, because a protocol cannot have an associated type whose values cannot be copied.
protocol BlockPart: Sendable {
  /// The part's linear layers.
  var linears: [LinearLayer] { get }
  /// Widths of the working memory that `forward` needs at once.
  var forwardWidths: [Int] { get }
  /// As ``forwardWidths``, of `backward`.
  var backwardWidths: [Int] { get }
}

/// The parts of an adapter's terms that are saved for the backward pass.
struct SavedTerms: Equatable, Sendable {
  /// The adapter's rank; 0 where nothing is saved.
  var rank = 0
  /// True when outputs are kept, from which the gradients of magnitudes follow.
  var savesOutputs = false
  /// True when a backward pass follows.
  var isRecording = false

  init() {}

  /// For a pass that trains an adapter of this shape, or none.
  init(_ adapter: AdapterConfiguration?, isRecording: Bool) {
    rank = adapter?.rank ?? 0
    savesOutputs = rank > 0 && adapter?.decomposesWeights ?? false && isRecording
    self.isRecording = isRecording
  }
}

/// The parts that blocks are made of, one line for each wherever they differ: another one is a type of its own, and its lines here.
enum AnyBlockPart: Sendable {
  case attention(AttentionPart)
  case feedForward(FeedForwardPart)

  /// The interface that all of them have in common.
  var any: any BlockPart {
    switch self {
    case .attention(let part): part
    case .feedForward(let part): part
    }
  }

  /// The activations of any part; those of the others have no elements.
  struct Activations: ~Copyable, MatrixSet {
    var attention = AttentionPart.Activations()
    var feedForward = FeedForwardPart.Activations()

    mutating func forEachMatrix(_ shape: (part: AnyBlockPart, saved: SavedTerms), _ body: (inout Matrix, Int) -> Void) {
      switch shape.part {
      case .attention(let part): attention.forEachMatrix((part, shape.saved), body)
      case .feedForward(let part): feedForward.forEachMatrix((part, shape.saved), body)
      }
    }
  }

  /// Computes what other rows need of these rows, `x: [n, C]`.
  func prepare(_ x: borrowing Matrix, saving a: inout Activations, _ pass: inout Pass) {
    switch self {
    case .attention(let part): part.prepare(x, saving: &a.attention, &pass)
    case .feedForward: break
    }
  }

  /// Keeps of what ``prepare`` has computed the rows that go on.
  func keepRows(_ selected: borrowing Buffer<Int32>, count: Int, of a: inout Activations) {
    switch self {
    case .attention(let part): part.keepRows(selected, count: count, of: &a.attention)
    case .feedForward: break
    }
  }

  /// Overwrites `y: [n, C]`.
  func forward(_ x: borrowing Matrix, into y: inout Matrix, saving a: inout Activations, _ pass: inout Pass) {
    switch self {
    case .attention(let part): part.forward(x, into: &y, saving: &a.attention, &pass)
    case .feedForward(let part): part.forward(x, into: &y, saving: &a.feedForward, &pass)
    }
  }

  /// Overwrites `dx: [n, C]`.
  func backward(
    _ dy: borrowing Matrix, x: borrowing Matrix, saved a: borrowing Activations, into dx: inout Matrix, _ pass: borrowing Pass,
    _ d: inout BackwardWork
  ) {
    switch self {
    case .attention(let part): part.backward(dy, x: x, saved: a.attention, into: &dx, pass, &d)
    case .feedForward(let part): part.backward(dy, x: x, saved: a.feedForward, into: &dx, pass, &d)
    }
  }
}
