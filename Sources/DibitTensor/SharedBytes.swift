/// Immutable bytes that several weights share: a mapped file or an allocation, freed with the last reference.
@safe
package final class SharedBytes: @unchecked Sendable {
  /// The number of bytes.
  package let count: Int
  /// True when the bytes may be written while uniquely referenced; a mapped file's may not.
  let isWritable: Bool
  let base: UnsafeMutableRawPointer
  private let release: (UnsafeMutableRawPointer, Int) -> Void

  /// Zeroed, writable memory, 64-byte aligned.
  package init(zeroed count: Int) {
    require(count >= 0, "SharedBytes: count \(count) is negative")
    self.count = count
    isWritable = true
    unsafe base = NumericMemory.allocate(count)
    unsafe release = { unsafe NumericMemory.release($0, $1) }
  }

  /// A copy of `bytes`.
  package convenience init(_ bytes: [UInt8]) {
    self.init(zeroed: bytes.count)
    // SAFETY: `base` holds `count` bytes and nobody else has seen it yet.
    unsafe bytes.withUnsafeBytes { unsafe base.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(base), byteCount: bytes.count) }
  }

  /// Adopts read-only memory, for instance a mapped file, that `release` gives back.
  @unsafe package init(adopting base: UnsafeMutableRawPointer, count: Int, release: @escaping (UnsafeMutableRawPointer, Int) -> Void) {
    self.count = count
    isWritable = false
    unsafe self.base = base
    unsafe self.release = release
  }

  deinit { unsafe release(base, count) }
}

/// A slice of shared bytes.
@safe
package struct Bytes: Sendable {
  var owner: SharedBytes
  /// The first byte of the slice in its owner.
  package let offset: Int
  /// The number of bytes.
  package let count: Int

  /// All bytes of `owner`.
  package init(_ owner: SharedBytes) {
    self.owner = owner
    offset = 0
    count = owner.count
  }

  /// The bytes `range` of `owner`.
  package init(_ owner: SharedBytes, range: Range<Int>) {
    require(range.lowerBound >= 0 && range.upperBound <= owner.count, "Bytes: \(range) outside \(owner.count) bytes")
    self.owner = owner
    offset = range.lowerBound
    count = range.count
  }

  /// The bytes `range` of this slice.
  package func slice(_ range: Range<Int>) -> Bytes {
    require(range.lowerBound >= 0 && range.upperBound <= count, "Bytes.slice: \(range) outside \(count) bytes")
    return Bytes(owner, range: offset + range.lowerBound..<offset + range.upperBound)
  }

  /// The bytes, for bounds-checked parsing.
  package var span: RawSpan {
    // SAFETY: the owner keeps the memory alive as long as the borrow of self lasts, and init checked the range.
    @_lifetime(borrow self) get {
      unsafe _overrideLifetime(RawSpan(_unsafeStart: UnsafeRawPointer(owner.base + offset), byteCount: count), borrowing: self)
    }
  }

  /// The bytes as elements, for digests.
  package var bytes: Span<UInt8> {
    // SAFETY: as `span`; every bit pattern is a byte.
    @_lifetime(borrow self) get {
      unsafe _overrideLifetime(
        Span(_unsafeStart: UnsafeRawPointer(owner.base + offset).assumingMemoryBound(to: UInt8.self), count: count), borrowing: self)
    }
  }

  /// One byte; the index is checked.
  package subscript(index: Int) -> UInt8 {
    require(index >= 0 && index < count, "Bytes: index \(index) outside 0..<\(count)")
    return unsafe owner.base.load(fromByteOffset: offset + index, as: UInt8.self)
  }

  /// The same bytes at an address that is a multiple of `alignment`: itself, or a copy when a file put them elsewhere.
  package func aligned(to alignment: Int) -> Bytes {
    if unsafe UInt(bitPattern: pointer) % UInt(alignment) == 0 { return self }
    let copy = SharedBytes(zeroed: count)
    unsafe copy.base.copyMemory(from: pointer, byteCount: count)
    return Bytes(copy)
  }

  /// A copy of the bytes.
  package var array: [UInt8] {
    // SAFETY: init checked that `count` bytes lie behind the address.
    unsafe Array(UnsafeRawBufferPointer(start: owner.base + offset, count: count))
  }

  /// The address of the first byte, for C kernels. Valid while the owner lives.
  @unsafe package var pointer: UnsafeRawPointer { unsafe UnsafeRawPointer(owner.base + offset) }

  /// Calls `body` with the address of writable bytes, copying them first when they are shared or read-only.
  @unsafe mutating func withMutablePointer<Result, Failure: Error>(
    _ body: (UnsafeMutableRawPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if !owner.isWritable || !isKnownUniquelyReferenced(&owner) {
      let copy = SharedBytes(zeroed: count)
      unsafe copy.base.copyMemory(from: pointer, byteCount: count)
      self = Bytes(copy)
    }
    return try unsafe body(owner.base + offset)
  }
}
