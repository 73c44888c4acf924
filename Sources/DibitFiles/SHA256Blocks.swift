internal import CDibitBytes
internal import DibitTensor

/// The compression function of SHA-256 (FIPS 180-4), with the CPU's own instructions where it has them.
enum SHA256Blocks {
  /// Bytes of a block.
  static let size = 64

  /// Adds whole blocks to the eight words of `state`; `portable` uses the code for CPUs without instructions for it.
  static func compress(_ state: inout [UInt32], _ blocks: Span<UInt8>, portable: Bool) {
    require(state.count == 8 && blocks.count % size == 0, "SHA256Blocks: \(state.count) words, \(blocks.count) bytes")
    let function = unsafe portable ? dibit_sha256_portable : dibit_sha256
    unsafe blocks.withUnsafeBufferPointer { blocks in
      unsafe state.withUnsafeMutableBufferPointer { state in
        guard let first = blocks.baseAddress, let words = state.baseAddress else { return }
        // SAFETY: the guard above proves eight words and whole blocks; both are valid within the closures.
        unsafe function(words, first, blocks.count / size)
      }
    }
  }
}
