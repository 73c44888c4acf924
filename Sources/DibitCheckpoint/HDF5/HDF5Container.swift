internal import DibitFailure
internal import DibitFiles
internal import DibitTensor

/// The datasets of an HDF5 file as tensors. Names are paths within the file: `layers/dense/vars/0`.
///
/// libhdf5 reads the file in a process of its own, which ends with this container: see
/// `docs/decisions/0002-hdf5-in-a-child.md`. All datasets must be numbers (a string alone is passed over) that are wholly in this file,
/// plain or through deflate, shuffle and fletcher32.
struct HDF5Container: TensorContainer {
  let path: String
  let tensors: [StoredTensor]
  let metadata: [(key: String, value: String)] = []

  #if HDF5
    let reader: HDF5Reader
    private let datasets: [HDF5Dataset]

    /// Opens the file at `path`.
    ///
    /// - Throws: ``CheckpointError``; what is wrong with the file is ``CheckpointError/hdf5(file:_:)``.
    init(path: String, limits: HDF5Limits = HDF5Limits()) throws(CheckpointError) {
      let file = try rethrow(as: CheckpointError.file, FileDescriptor.open(reading: path))
      guard try rethrow(as: CheckpointError.file, file.status()).size > 0 else { throw .file(.emptyFile(path: path)) }
      let (reader, found) = try HDF5Reader.start(file, limits: limits)
      self.path = path
      self.reader = reader
      // In the order of their data, as far as that is known, so that reading them in turn moves forward through the file.
      datasets = found.sorted { ($0.offset ?? .max, $0.number) < ($1.offset ?? .max, $1.number) }
      tensors = datasets.map {
        StoredTensor(name: $0.path, dtype: $0.dtype, shape: $0.shape, storage: $0.storage, byteCount: $0.storedBytes)
      }
    }

    func readRows(_ index: Int, rows: Range<Int>, into target: inout MutableSpan<Float>) throws(CheckpointError) {
      let dataset = datasets[index]
      var filled = 0
      do throws(HDF5Fault) {
        for block in HDF5Blocks(dataset.shape, rows: rows, limit: reader.limits.window / dataset.dtype.byteCount).blocks {
          let count = block.elements
          try reader.read(dataset, start: block.start, count: block.count) { bytes in
            var part = target._mutatingExtracting(filled..<filled + count)
            Widening.widen(bytes, dataset.dtype, into: &part)
          }
          filled += count
        }
      } catch { throw .hdf5(file: path, error) }
      require(filled == target.count, "HDF5Container: \(target.count) elements asked for, \(filled) read")
    }
  #else
    init(path: String) throws(CheckpointError) { throw .hdf5(file: path, .notBuilt) }

    func readRows(_ index: Int, rows: Range<Int>, into target: inout MutableSpan<Float>) throws(CheckpointError) {
      throw .hdf5(file: path, .notBuilt)
    }
  #endif

  /// None: also plain data are read through libhdf5.
  func plainBytes(_ index: Int) -> Bytes? { nil }

  /// Nothing to do: this process holds no pages of the file.
  func release(_ index: Int, rows: Range<Int>) {}
}
