internal import DibitTensor
internal import Synchronization

/// The stored tensor that was last read as a whole, because a view of it needs elements from everywhere.
///
/// Rows of a view are asked for in small parts, from several threads: without this, each part would read (and inflate) all of it.
final class WholeTensor: Sendable {
  private struct Content {
    var key: (container: Int, index: Int)?
    var values: [Float] = []
  }

  private let content = Mutex(Content())

  /// The floats of a tensor of `count` elements; `read` fills them where they are not at hand.
  func values(container: Int, index: Int, count: Int, read: (inout MutableSpan<Float>) throws(CheckpointError) -> Void)
    throws(CheckpointError) -> [Float]
  {
    try content.withLock { content throws(CheckpointError) in
      if let key = content.key, key == (container, index) { return content.values }
      // What is not needed any more goes before the next one comes.
      content = Content()
      var values = [Float](repeating: 0, count: count)
      var span = values.mutableSpan
      try read(&span)
      content = Content(key: (container, index), values: values)
      return values
    }
  }

  /// Forgets the tensor.
  func clear() { content.withLock { $0 = Content() } }
}
