internal import CDibitThreads
internal import Glibc

/// The number of ``Buffer`` allocations of the calling thread since it began; a training step and a decoded token must not move it.
package func bufferAllocationCount() -> Int { dibit_thread_count(0) }

/// Memory for numbers: zeroed and 64-byte aligned.
///
/// Large pieces are pages of their own, which go back to the system with them: in a heap that they share with everything else, pieces that outlive
/// their neighbours keep these neighbours' pages.
enum NumericMemory {
  /// From this size on memory comes as pages from the system, which are zero when they are first touched.
  private static let pagedBytes = 1 << 20

  @unsafe static func allocate(_ bytes: Int) -> UnsafeMutableRawPointer {
    if bytes >= pagedBytes {
      let pages = unsafe mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
      guard let pages = unsafe pages, unsafe pages != MAP_FAILED else {
        MemoryFailure.end(bytes)
      }
      // Fewer and larger pages where the system has them; a refusal changes nothing.
      unsafe madvise(pages, bytes, MADV_HUGEPAGE)
      return unsafe pages
    }
    let raw = UnsafeMutableRawPointer.allocate(byteCount: max(bytes, 64), alignment: 64)
    unsafe raw.initializeMemory(as: UInt8.self, repeating: 0, count: max(bytes, 64))
    return unsafe raw
  }

  /// Gives memory of so many bytes back that ``allocate(_:)`` gave.
  @unsafe static func release(_ base: UnsafeMutableRawPointer, _ bytes: Int) {
    if bytes >= pagedBytes { unsafe munmap(base, bytes) } else { unsafe base.deallocate() }
  }
}

/// Owns `count` elements, zeroed and 64-byte aligned.
///
/// Use it for state that is allocated once and written many times. For short lists use `Array`. A large buffer takes memory only where it
/// has been written: a cache for a long context costs what a conversation uses of it.
@safe
package struct Buffer<Element: BitwiseCopyable>: ~Copyable, @unchecked Sendable {
  /// The number of elements.
  package let count: Int
  @usableFromInline let base: UnsafeMutablePointer<Element>

  /// Allocates `count` elements whose bytes are all zero.
  package init(count: Int) {
    require(count >= 0, "Buffer: count \(count) is negative")
    let (bytes, overflow) = count.multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
    require(!overflow, "Buffer: \(count) elements of \(MemoryLayout<Element>.stride) bytes overflow")
    self.count = count
    _ = dibit_thread_count(1)
    unsafe base = NumericMemory.allocate(bytes).assumingMemoryBound(to: Element.self)
  }

  deinit { unsafe NumericMemory.release(base, count * MemoryLayout<Element>.stride) }

  /// Bytes of all elements, whether they have been written or not.
  package var byteCount: Int { count * MemoryLayout<Element>.stride }

  /// The elements, for reading.
  package var span: Span<Element> {
    // SAFETY: `base` is initialised in init, freed in deinit, and the span cannot outlive the borrow of self.
    @_lifetime(borrow self) get {
      unsafe _overrideLifetime(Span(_unsafeStart: base, count: count), borrowing: self)
    }
  }

  /// The elements, for writing.
  package var mutableSpan: MutableSpan<Element> {
    // SAFETY: as `span`, and the exclusive borrow of self keeps every other access out.
    @_lifetime(&self) mutating get {
      unsafe _overrideLifetime(MutableSpan(_unsafeStart: base, count: count), mutating: &self)
    }
  }

  /// One element; the index is checked.
  @inlinable
  package subscript(index: Int) -> Element {
    get {
      require(index >= 0 && index < count, "Buffer: index \(index) outside 0..<\(count)")
      return unsafe base[index]
    }
    set {
      require(index >= 0 && index < count, "Buffer: index \(index) outside 0..<\(count)")
      unsafe base[index] = newValue
    }
  }

  /// The address of the first element, for C kernels. Valid while the buffer lives.
  @unsafe package var pointer: UnsafePointer<Element> { unsafe UnsafePointer(base) }

  /// The address of the first element, for C kernels that write.
  @unsafe package var mutablePointer: UnsafeMutablePointer<Element> { mutating get { unsafe base } }
}
