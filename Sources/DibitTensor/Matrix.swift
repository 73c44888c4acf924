/// Owns a row-major `[rows, columns]` matrix of floats; a row is one token or one output channel.
///
/// A workspace allocates the largest matrix it needs once and sets ``rows`` for each batch: see ``setRows(_:)``.
@safe
package struct Matrix: ~Copyable, Sendable {
  /// Rows in use.
  package private(set) var rows: Int
  /// Elements of a row.
  package private(set) var columns: Int
  /// The most rows that fit the allocation.
  package private(set) var capacity: Int
  var storage: Buffer<Float>

  /// A zeroed matrix.
  package init(rows: Int, columns: Int) {
    require(rows >= 0 && columns >= 0, "Matrix: shape [\(rows), \(columns)] is negative")
    self.rows = rows
    self.columns = columns
    capacity = rows
    storage = Buffer(count: rows * columns)
  }

  /// A matrix with these elements, row by row.
  package init(rows: Int, columns: Int, values: [Float]) {
    require(values.count == rows * columns, "Matrix: \(values.count) values for shape [\(rows), \(columns)]")
    self.init(rows: rows, columns: columns)
    if !values.isEmpty { assign(values.span, columns: columns) }
  }

  /// The number of elements in use.
  package var count: Int { rows * columns }

  /// Bytes of the allocation.
  package var byteCount: Int { storage.byteCount }

  /// `[rows, columns]`, for messages.
  package var shape: String { "[\(rows), \(columns)]" }

  /// Uses the first `rows` rows of the allocation.
  package mutating func setRows(_ rows: Int) {
    require(rows >= 0 && rows <= capacity, "Matrix: \(rows) rows exceed the capacity of \(capacity)")
    self.rows = rows
  }

  /// Uses the allocation for `[rows, columns]`; where the columns change, the elements have no meaning yet.
  package mutating func reshape(rows: Int, columns: Int) {
    if columns != self.columns {
      self.columns = columns
      capacity = columns > 0 ? storage.count / columns : 0
    }
    setRows(capacity > 0 ? rows : 0)
  }

  /// The most elements that fit the allocation.
  package var elementCapacity: Int { storage.count }

  /// The elements in use, row by row.
  package var span: Span<Float> { @_lifetime(borrow self) get { storage.span.extracting(0..<count) } }

  /// The elements in use, for writing.
  package var mutableSpan: MutableSpan<Float> {
    // SAFETY: `count` elements of the storage are in use and the exclusive borrow of self keeps every other access out.
    @_lifetime(&self) mutating get {
      unsafe _overrideLifetime(MutableSpan(_unsafeStart: storage.mutablePointer, count: count), mutating: &self)
    }
  }

  /// One element.
  package subscript(row: Int, column: Int) -> Float {
    get {
      require(row >= 0 && row < rows && column >= 0 && column < columns, "Matrix: [\(row), \(column)] outside \(shape)")
      return storage[row * columns + column]
    }
    set {
      require(row >= 0 && row < rows && column >= 0 && column < columns, "Matrix: [\(row), \(column)] outside \(shape)")
      storage[row * columns + column] = newValue
    }
  }

  /// A copy of the elements in use.
  package var values: [Float] {
    let span = span
    return Array(copying: span)
  }

  /// A matrix of its own with the elements in use.
  package func copied() -> Matrix {
    var copy = Matrix(rows: rows, columns: columns)
    copy.copy(self)
    return copy
  }

  /// Makes this a matrix with these elements, row by row, in its allocation where they fit.
  package mutating func assign(_ values: Span<Float>, columns: Int) {
    let rows = columns > 0 ? values.count / columns : 0
    require(values.count == rows * columns, "Matrix: \(values.count) values for rows of \(columns)")
    if values.count > elementCapacity { self = Matrix(rows: rows, columns: columns) } else { reshape(rows: rows, columns: columns) }
    // SAFETY: both hold `rows * columns` floats; an owner is never aliased.
    unsafe values.withUnsafeBufferPointer { source in
      if let base = source.baseAddress { unsafe storage.mutablePointer.update(from: base, count: source.count) }
    }
  }

  /// Sets every element in use.
  package mutating func fill(_ value: Float) {
    var span = mutableSpan
    for index in span.indices { span[index] = value }
  }

  /// Copies the elements of a matrix of the same shape.
  package mutating func copy(_ other: borrowing Matrix) {
    require(rows == other.rows && columns == other.columns, "Matrix.copy: \(other.shape) into \(shape)")
    // SAFETY: both hold `count` floats; an owner is never aliased.
    unsafe storage.mutablePointer.update(from: other.storage.pointer, count: count)
  }

  /// The address of the first element, for C kernels. Valid while the matrix lives.
  @unsafe package var pointer: UnsafePointer<Float> { unsafe storage.pointer }

  /// The address of the first element, for C kernels that write.
  @unsafe package var mutablePointer: UnsafeMutablePointer<Float> { mutating get { unsafe storage.mutablePointer } }
}

extension Array where Element: BitwiseCopyable {
  /// The elements of a span.
  package init(copying span: Span<Element>) {
    // SAFETY: the elements are read while the span lives.
    self = unsafe span.withUnsafeBufferPointer { unsafe Array($0) }
  }
}
